package dataset

import "rivulet/graph"

// Dataset is a whole graph with its roles, as it was read or generated.
type Dataset struct {
	Name    string
	IDs     []string       // external id of each node, distinct
	Adj     *graph.CSR     // n×n symmetric 0/1 (Val nil), no self-loops, columns ascending
	X       graph.Features // n×d raw
	Labels  []int32        // class index, -1 where unknown
	Classes []string       // class names by index

	Train, Unlabelled, Validation, Test []int32 // node indices, ascending, disjoint
	// BagOfWords tells features of counts or flags (sparse feats.npz, Planetoid) from dense ones; it decides `auto`
	// preprocessing.
	BagOfWords bool
}
