package features

import (
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/infer/preprocess"
)

// FactoredFeatures is pre(X) as X̄ diag(f) − 1·oᵀ. Unlike [preprocess.Projection] it norms each row once, for all reads
// of training, and gives products from the left.
type FactoredFeatures struct {
	Raw    graph.Features // X̄, N×d
	Factor []float32      // f, d; nil after Scaled: ones
	Offset []float32      // o, d; nil after Scaled of dense features: zeros
}

// Factor returns raw features with a preprocessing applied.
func Factor(x graph.Features, pre *preprocess.Parameters) *FactoredFeatures {
	d := x.Cols()
	f := &FactoredFeatures{Raw: x, Factor: make([]float32, d), Offset: make([]float32, d)}
	switch pre.Kind {
	case preprocess.L2Center:
		f.Raw = unitRows(x)
	case preprocess.L1:
		f.Raw = sumRows(x)
	}
	for k := range d {
		f.Factor[k] = 1
		if pre.Kind == preprocess.None {
			continue
		}
		f.Factor[k] = pre.Scale
		if pre.Kind == preprocess.Standardize {
			f.Factor[k] /= pre.Std[k]
		}
		if pre.Centres() {
			f.Offset[k] = pre.Mean[k] * f.Factor[k]
		}
	}
	return f
}

// Scaled returns the same with the factors in the values, X̃ = X̄ diag(f), and for dense features with the offsets,
// too: X̃ = pre(X). Features that are read in every epoch are scaled only once this way, and dropout of X̃ is
// dropout of the features.
func (f *FactoredFeatures) Scaled() *FactoredFeatures {
	x := f.Raw.Sparse
	if x == nil {
		return &FactoredFeatures{Raw: graph.Features{Dense: f.Block(0, f.Raw.Cols())}}
	}
	out := &graph.CSR{Rows: x.Rows, Cols: x.Cols, RowPtr: x.RowPtr, ColIdx: x.ColIdx, Val: make([]float32, x.NNZ())}
	for p, c := range x.ColIdx {
		out.Val[p] = f.Factor[c] * value(x.Val, p)
	}
	return &FactoredFeatures{Raw: graph.Features{Sparse: out}, Offset: f.Offset}
}

// unitRows returns x with rows of unit L2 norm; rows of zeros stay.
func unitRows(x graph.Features) graph.Features { return mapRows(x, scaleToUnit) }

// sumRows returns x with rows over their L1 norm; rows of a norm up to 1 stay.
func sumRows(x graph.Features) graph.Features { return mapRows(x, scaleToSum) }

// mapRows returns x with scale applied to the values of every row.
func mapRows(x graph.Features, scale func(row []float32)) graph.Features {
	if x.Sparse == nil {
		out := x.Dense.Clone()
		for i := range out.Rows {
			scale(out.Row(i))
		}
		return graph.Features{Dense: out}
	}
	s := x.Sparse
	out := &graph.CSR{Rows: s.Rows, Cols: s.Cols, RowPtr: s.RowPtr, ColIdx: s.ColIdx, Val: slices.Clone(s.Values())}
	for i := range s.Rows {
		scale(out.Val[s.RowPtr[i]:s.RowPtr[i+1]])
	}
	return graph.Features{Sparse: out}
}

func scaleToUnit(row []float32) {
	norm := 0.0
	for _, v := range row {
		norm += float64(v) * float64(v)
	}
	if norm == 0 {
		return
	}
	graph.Scale(row, float32(1/math.Sqrt(norm)))
}

func scaleToSum(row []float32) {
	sum := 0.0
	for _, v := range row {
		sum += math.Abs(float64(v))
	}
	graph.Scale(row, float32(1/max(1, sum)))
}

// Block returns columns lo…hi of pre(X), N×(hi−lo).
func (f *FactoredFeatures) Block(lo, hi int) *graph.Dense {
	out := graph.NewDense(f.Raw.Rows(), hi-lo)
	f.block(out, lo)
	return out
}

// block sets out, N×width, to the columns of pre(X) from lo on.
func (f *FactoredFeatures) block(out *graph.Dense, lo int) {
	graph.ParallelRows(out.Rows, len(out.Data), func(from, to int) {
		for i := from; i < to; i++ {
			f.blockRow(out.Row(i), i, lo)
		}
	})
}

func (f *FactoredFeatures) blockRow(row []float32, i, lo int) {
	hi := lo + len(row)
	if f.Raw.Sparse != nil {
		clear(row)
		cols, vals := f.Raw.Sparse.Row(i)
		for p, c := range cols {
			if int(c) >= lo && int(c) < hi {
				row[int(c)-lo] += value(vals, p)
			}
		}
	} else {
		copy(row, f.Raw.Dense.Row(i)[lo:hi])
	}
	for k := range row {
		row[k] = row[k]*f.Factor[lo+k] - f.Offset[lo+k]
	}
}

// Blocks visits pre(X) by blocks of columns: visit is called with the first column and an N×width block, whose memory
// is the next block's.
func (f *FactoredFeatures) Blocks(width int, visit func(lo int, block *graph.Dense)) {
	n, d := f.Raw.Rows(), f.Raw.Cols()
	memory := make([]float32, n*min(width, d))
	for lo := 0; lo < d; lo += width {
		block := &graph.Dense{Rows: n, Cols: min(width, d-lo)}
		block.Data = memory[:n*block.Cols]
		f.block(block, lo)
		visit(lo, block)
	}
}

// TwoHops visits Â²·pre(X) as Blocks does pre(X), with hat = Â.
func (f *FactoredFeatures) TwoHops(hat *graph.CSR, visit func(lo int, block *graph.Dense)) {
	var between graph.Dense
	f.Blocks(blockWidth(hat.Rows), func(lo int, block *graph.Dense) {
		if between.Data == nil {
			between.Data = make([]float32, len(block.Data))
		}
		between.Rows, between.Cols, between.Data = block.Rows, block.Cols, between.Data[:len(block.Data)]
		graph.MulTo(&between, hat, block)
		graph.MulTo(block, hat, &between)
		visit(lo, block)
	})
}

// Combine returns G·pre(X), groups×d, for G groups×N: with the rows of G averaging over clusters these are cluster
// means of X, with G = means·Â² cluster means of Â²X.
func (f *FactoredFeatures) Combine(g *graph.CSR) *graph.Dense {
	out := graph.NewDense(g.Rows, len(f.Factor))
	work := g.NNZ()
	if f.Raw.Sparse != nil {
		work *= 1 + f.Raw.Sparse.NNZ()/max(1, f.Raw.Rows())
	}
	graph.ParallelRows(g.Rows, work, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f.combineRow(out.Row(i), g, i)
		}
	})
	return out
}

func (f *FactoredFeatures) combineRow(out []float32, g *graph.CSR, i int) {
	total := 0.0
	nodes, weights := g.Row(i)
	if f.Raw.Sparse == nil {
		graph.AddRows(out, nodes, weights, f.Raw.Dense)
	}
	for p, j := range nodes {
		w := value(weights, p)
		total += float64(w)
		if f.Raw.Sparse == nil {
			continue
		}
		cols, vals := f.Raw.Sparse.Row(int(j))
		for q, c := range cols {
			out[c] += w * value(vals, q)
		}
	}
	for k := range out {
		out[k] = out[k]*f.Factor[k] - float32(total)*f.Offset[k]
	}
}

// value returns entry p of a row of values; a pattern (nil) is all ones.
func value(vals []float32, p int) float32 {
	if vals == nil {
		return 1
	}
	return vals[p]
}
