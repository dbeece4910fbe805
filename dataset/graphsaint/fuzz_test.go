package graphsaint

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzClassMap: any text gives each node a class or none, and some node a class, or an error.
func FuzzClassMap(f *testing.F) {
	for _, text := range []string{`{"0": 0, "1": 1, "2": 0, "3": 1, "4": 0, "5": 1}`, `{"0":[0,1],"1":[1,0]}`,
		`{"0":null,"1":0}`, `{"0":0,"0":0}`, `{"5":1e9}`,
		`{"a":[`, `[]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		names, err := ReadClasses(bytes.NewReader(text), 6)
		if err != nil {
			return
		}
		if len(names) != 6 || !slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
			t.Fatalf("classes of nodes are %q", names)
		}
	})
}

// FuzzRoles: any text gives disjoint ascending lists of nodes, or an error.
func FuzzRoles(f *testing.F) {
	for _, text := range []string{`{"tr": [2, 0], "va": [3], "te": [4], "un": [1]}`, `{"tr":[0],"va":[1],"te":[2]}`,
		`{"tr":[0,0]}`, `{"tr":[-1]}`, `{"un":[1e3]}`,
		`{"tr":[[]]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ReadRoles(bytes.NewReader(text), 6)
		if err != nil {
			return
		}
		seen := map[int32]bool{}
		for _, list := range [][]int32{r.Train, r.Validation, r.Test, r.Unlabelled} {
			last := int32(-1)
			for _, i := range list {
				if i <= last || i >= 6 || seen[i] {
					t.Fatalf("accepted %+v", r)
				}
				seen[i], last = true, i
			}
		}
	})
}

// FuzzLabels: any text gives each node labels or none, each once and among all, or an error.
func FuzzLabels(f *testing.F) {
	for _, text := range []string{`{"0": [1, 0, 1], "1": [0, 0, 0], "5": null}`, `{"0": [1], "1": [0, 1]}`, `{"0": 3}`,
		`{"0": []}`,
		`{"0":[2]}`, `{"0":[1],"0":[1]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sets, names, err := ReadLabels(bytes.NewReader(text), 6)
		if err != nil {
			return
		}
		for _, set := range sets {
			for k, name := range set {
				if !slices.Contains(names, name) || slices.Contains(set[:k], name) {
					t.Fatalf("labels %q of %q", set, names)
				}
			}
		}
	})
}
