package condense

import (
	"rivulet/graph"
	"rivulet/infer"
)

// The method "cached" condenses nothing: it keeps the model's frozen tables of T itself, so that
// [infer.Model.Frozen] on them is Whole with each arrival joined alone. M is compared with it (docs/algorithm.md,
// section 7): tables belong to one model and are as wide as its classes and hidden units, while a row of M serves
// all models and has k entries.

// CachedBytes returns the least memory for exact tables, in bytes: four a number, except for the way back of a
// model with hidden units, whose entries in a row are all either 0 or the same number, one bit each and the number.
// SGC: 4(2C+1) bytes a node. GCN, GraphSAGE, Cheby: 4(h+C+1) + h/8.
func CachedBytes(t *infer.Tables) int {
	perNode := 0
	for _, u := range t.U {
		perNode += 4 * u.Cols
	}
	if t.C != nil {
		perNode += 4
		if t.C.Cols > 1 {
			perNode += (t.C.Cols + 7) / 8
		}
	}
	return perNode * t.Nodes()
}

// MappingBytes returns the memory of M for this comparison: eight bytes an entry (column and weight), for any
// number of models. The index of the rows is needed by both and not counted.
func MappingBytes(m *graph.CSR) int { return 8 * m.NNZ() }
