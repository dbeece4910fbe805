package condense

import (
	"rivulet/graph"
	"rivulet/infer"
)

// The method "cached" condenses nothing: it keeps the model's frozen tables of T itself, so that [infer.Model.Frozen] on
// them is Whole with each arrival joined alone. It is what M must be worth its place against (docs/algorithm.md, section 7):
// tables are of one model and as wide as it has classes and hidden units, a row of M is of all models and has k entries.

// CachedBytes is the least memory in which tables can be kept as they are, in bytes: four a number, but for the way back
// of a model with hidden units, whose entries in a row are all either 0 or the same number, a bit each and the number.
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

// MappingBytes is what M takes to be compared with: eight bytes an entry (column and weight), whatever is served through
// it. What indexes the rows is needed for either and is not counted.
func MappingBytes(m *graph.CSR) int { return 8 * m.NNZ() }
