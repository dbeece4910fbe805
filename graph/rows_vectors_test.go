//go:build (amd64 || arm64) && !purego

package graph

import (
	"fmt"
	"testing"
)

// The kernels of processors with narrower vectors than this one's.
func TestNarrowerVectors(t *testing.T) {
	defer func(wide int) { vectors = wide }(vectors)
	for _, narrow := range []int{8, 0} {
		if narrow < vectors {
			t.Run(fmt.Sprint(narrow), func(t *testing.T) {
				vectors = narrow
				checkAddRows(t)
				checkAddProduct(t)
				checkExponentials(t)
				checkElements(t)
			})
		}
	}
}
