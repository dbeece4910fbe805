package mappingtest

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"rivulet/artifact"
	"rivulet/graph"
)

// IDKinds are forms of external ids.
var IDKinds = []struct {
	Name string
	Make func(i int) string
}{
	{"integer", strconv.Itoa},
	{"post", func(i int) string { return fmt.Sprintf("post:%d", i) }},
	{"uuid", func(i int) string {
		rng := rand.NewPCG(uint64(i), 5)
		a, b := rng.Uint64(), rng.Uint64()
		return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(a), uint16(a>>32), a>>52, uint16(b)&0xfff, b>>16)
	}},
}

// Drawn returns an M of n rows with four entries among 500 columns, as the solved recipe makes them.
func Drawn(n int, id func(i int) string) *artifact.Mapping {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	m := &artifact.Mapping{Rows: &graph.CSR{Rows: n, Cols: 500, RowPtr: make([]int, 1, n+1)}}
	for i := range n {
		m.IDs = append(m.IDs, id(i))
		for p := range 4 {
			m.Rows.ColIdx = append(m.Rows.ColIdx, int32(125*p+rng.IntN(125)))
			m.Rows.Val = append(m.Rows.Val, rng.Float32())
		}
		m.Rows.RowPtr = append(m.Rows.RowPtr, len(m.Rows.ColIdx))
	}
	return m
}
