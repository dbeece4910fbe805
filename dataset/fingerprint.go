package dataset

import (
	"maps"
	"math"
	"slices"

	"rivulet/dataset/digest"
	"rivulet/infer/target"
)

// Fingerprint returns "sha256:" and 64 hexadecimal digits over graph, features (Columns if they have names, else
// X), labels, classes, roles, ids and [Merged]: two data sets have the same one exactly if they differ in their
// names only. It does not depend on the machine, nor on the form in which the files were stored (item sizes,
// compression, order of columns).
func (d *Dataset) Fingerprint() string {
	if d.Identity != "" {
		return d.Identity
	}
	f := digest.New()
	f.Texts(d.IDs)
	f.Texts(d.Classes)
	f.Matrix(d.Adj)
	f.Flag(d.BagOfWords)
	f.Flag(d.Columns == nil && d.X.Sparse != nil)
	switch {
	case d.Columns != nil:
		f.Columns(d.Columns)
	case d.X.Sparse != nil:
		f.Matrix(d.X.Sparse)
	default:
		f.Size(d.X.Dense.Rows)
		f.Size(d.X.Dense.Cols)
		f.Values(d.X.Dense.Data)
	}
	for _, list := range [][]int32{d.Labels, d.Train, d.Unlabelled, d.Validation, d.Test} {
		f.Ints(list)
	}
	if !d.Merged.Empty() { // at the end, so that data without it keep their fingerprint
		d.Merged.Digest(f)
	}
	if d.By.Relational() {
		f.Matrix(d.Relations.Means(d.Nodes()))
	}
	if d.By.Arriving != 0 {
		f.U32(uint32(d.By.Arriving))
	}
	if d.By.Types != nil { // and this
		f.Texts(d.By.Types)
		f.Flag(d.By.Directed)
	}
	if d.Times != nil { // and this
		f.Size(len(d.Times))
		for _, v := range d.Times {
			f.U64(math.Float64bits(v))
		}
	}
	if d.Task != target.Classes { // and this
		f.Texts([]string{d.Task.String()})
		for _, is := range d.Candidates {
			f.Flag(is)
		}
		if d.Targets != nil {
			f.Values(d.Targets.Data)
		}
	}
	if d.NodeTypes != nil { // and this
		for _, column := range slices.Sorted(maps.Keys(d.NodeTypes.Of)) {
			f.Texts([]string{column, d.NodeTypes.Of[column]})
		}
	}
	return f.Sum()
}
