package condense

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"rivulet/graph"
	"rivulet/infer"
)

// Columns that are kept of the effects of a hidden layer; more change nothing that can be measured.
const (
	firstEffects = 64 // of layer 1, through the arrival's own hidden layer
	backEffects  = 32 // of the way back i→j→i
)

// Support are the support nodes attached to T at once, and the preprocessing of their features: what is met in serving.
type Support struct {
	Batch *infer.Batch
	Pre   *infer.Preprocess
}

// degree is deg_i, edges in ã included.
func (s Support) degree(i int) float64 {
	d := float64(s.Batch.Known[i])
	if s.Batch.Adj != nil {
		d += float64(s.Batch.Adj.RowLen(i))
	}
	return d
}

// mean is the mean of f over the edges from support nodes to T; 1 where there are none.
func (s Support) mean(f func(i int) float64) float64 {
	sum, edges := 0.0, 0.0
	for i := range s.Batch.Len() {
		if known := float64(s.Batch.Known[i]); known > 0 {
			sum += known * f(i)
			edges += known
		}
	}
	if edges == 0 {
		return 1
	}
	return sum / edges
}

// MessagesOf measures on the support nodes how the tables of a model become messages, what of every node of T an arrival reads, in
// the units of its effect on the logits (docs/algorithm.md, section 5, step 3). tables are the model's on T.
//
//	SGC                    [u1 W̄, s0·u0 W̄, cs·c]
//	GCN, GraphSAGE, Cheby  [u1 less its class mean, u0·P0, c·Pc]
//	APPNP                  [u_t·RMS((1−α)/D_i)^(hops−1−t) …, c·(1−α)·RMS ‖z_i‖/√D_i]
func MessagesOf(m infer.Model, tables *infer.Tables, s Support) infer.Messages {
	switch m := m.(type) {
	case *infer.SGC:
		return sgcMessages(m, s)
	case *infer.APPNP:
		return appnpMessages(m, tables, s)
	}
	return layersOf(m).messages(m, tables, s)
}

// layersOf is what the messages of a two-layer model need of it (the factors of docs/algorithm.md, section 5, step 3).
func layersOf(m infer.Model) layered {
	one := func(float64) float64 { return 1 }
	switch m := m.(type) {
	case *infer.GCN:
		return layered{first: m.W1, own: m.W2, onward: m.W2, s: power(1, 0.5), kappa: power(1, 1), back: power(1, 0.5)}
	case *infer.SAGE:
		return layered{first: m.Wn1, own: m.Ws2, onward: m.Wn2, s: power(0, 1), kappa: one, back: one}
	case *infer.Cheby:
		return layered{first: m.W1[1], own: m.W2[0], onward: m.W2[1], s: power(0, 0.5), kappa: one, back: power(0, 0.5)}
	}
	panic(fmt.Sprintf("condense: no messages of model %s", m.Name()))
}

// power is (deg+loop)^-p of a degree.
func power(loop, p float64) func(degree float64) float64 {
	return func(degree float64) float64 { return math.Pow(degree+loop, -p) }
}

// layered is what the messages of a two-layer model need of it; signs of weights do not matter here.
type layered struct {
	first  *graph.Dense // W1 or Wn1, d×h
	own    *graph.Dense // Ws2, h×C: from the arrival's hidden layer to its logits
	onward *graph.Dense // Wn2, h×C: from a neighbour's hidden layer to the arrival's logits
	// Factors by deg_i: s of u1, κ of layer 1 and of the way back, both relative to s.
	s, kappa, back func(degree float64) float64
}

func (l layered) messages(m infer.Model, t *infer.Tables, s Support) infer.Messages {
	hidden := masks(m, t, s)
	first := l.effects(s, hidden, l.own, l.kappa, firstEffects)
	back := l.effects(s, s.Pre.Fold(l.first).Apply(s.Batch.X), l.onward, l.back, backEffects)
	return infer.Messages{U: []infer.Part{{Factor: first}, {Scale: 1}}, C: infer.Part{Factor: back}}
}

// masks are 1 where the hidden layer of a support node lets through, n×h.
func masks(m infer.Model, t *infer.Tables, s Support) *graph.Dense {
	hidden := m.Frozen(t, s.Pre).(infer.Embedder).Embeddings(s.Batch)
	for k, v := range hidden.Data {
		if v > 0 {
			hidden.Data[k] = 1
		}
	}
	return hidden
}

// effects returns P (h×k) with PPᵀ ≈ (W̄ W̄ᵀ) ∘ E[s²κ² rᵀr]/E[s²], the mean squared effect on the centred logits of a
// change in h columns that rows r (n×h) pass on to W (h×C), over the support edges.
func (l layered) effects(s Support, rows, w *graph.Dense, kappa func(float64) float64, keep int) *graph.Dense {
	weighted := graph.NewDense(rows.Rows, rows.Cols)
	for i := range rows.Rows {
		if s.Batch.Known[i] > 0 {
			factor := math.Sqrt(float64(s.Batch.Known[i])) * l.s(s.degree(i)) * kappa(s.degree(i))
			graph.Axpy(weighted.Row(i), float32(factor), rows.Row(i))
		}
	}
	h := rows.Cols
	wide, bar := mat.NewDense(max(1, rows.Rows), h, nil), mat.NewDense(h, w.Cols, nil)
	for i := range rows.Rows {
		setRow(wide, i, weighted.Row(i))
	}
	for i := range h {
		setRow(bar, i, centred(w.Row(i)))
	}
	var met, effect mat.SymDense
	met.SymOuterK(1, wide.T())
	effect.SymOuterK(1, bar)
	for i := range h {
		for j := i; j < h; j++ {
			effect.SetSym(i, j, effect.At(i, j)*met.At(i, j))
		}
	}
	norm := s.mean(func(i int) float64 { return sq(l.s(s.degree(i))) }) * max(1, s.edges())
	return topFactors(&effect, 1/norm, min(keep, h))
}

func (s Support) edges() float64 {
	edges := 0.0
	for _, known := range s.Batch.Known {
		edges += float64(known)
	}
	return edges
}

// topFactors returns V√(scale·λ) of the largest eigenvalues, h×keep.
func topFactors(m *mat.SymDense, scale float64, keep int) *graph.Dense {
	h := m.SymmetricDim()
	var eigen mat.EigenSym
	out := graph.NewDense(h, keep)
	if !eigen.Factorize(m, true) {
		panic("condense: the eigenvalues of a symmetric matrix did not converge")
	}
	values := eigen.Values(nil) // ascending
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for k := range keep {
		at := h - 1 - k
		root := math.Sqrt(max(0, values[at]*scale))
		for i := range h {
			out.Row(i)[k] = float32(root * vectors.At(i, at))
		}
	}
	return out
}

func appnpMessages(m *infer.APPNP, t *infer.Tables, s Support) infer.Messages {
	var out infer.Messages
	keep := 1 - float64(m.Alpha)
	for hop := range t.U {
		scale := math.Sqrt(s.mean(func(i int) float64 { return math.Pow(sq(keep/(s.degree(i)+1)), float64(m.Hops-1-hop)) }))
		out.U = append(out.U, infer.Part{Scale: float32(scale)})
	}
	z := graph.MulDense(m.Frozen(t, s.Pre).(infer.Embedder).Embeddings(s.Batch), m.W2)
	back := math.Sqrt(s.mean(func(i int) float64 {
		row := z.Row(i)
		own := make([]float32, len(row))
		for k := range row {
			own[k] = row[k] + m.B2[k]
		}
		return squaredLength(centred(own)) / (s.degree(i) + 1)
	}))
	out.C.Scale = float32(keep * back)
	return out
}

// beside puts matrices of equal rows side by side.
func beside(blocks ...*graph.Dense) *graph.Dense {
	width := 0
	for _, b := range blocks {
		width += b.Cols
	}
	out := graph.NewDense(blocks[0].Rows, width)
	for i := range out.Rows {
		row := out.Row(i)
		for _, b := range blocks {
			row = row[copy(row, b.Row(i)):]
		}
	}
	return out
}

func setRow(m *mat.Dense, i int, row []float32) {
	for k, v := range row {
		m.Set(i, k, float64(v))
	}
}

func sq(v float64) float64 { return v * v }

func squaredLength(row []float32) float64 {
	s := 0.0
	for _, v := range row {
		s += float64(v) * float64(v)
	}
	return s
}
