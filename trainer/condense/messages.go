package condense

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/infer/preprocess"
	"rivulet/trainer/features"
)

// Columns that are kept of the effects of a hidden layer; more change nothing that can be measured.
const (
	firstEffects = 64 // of layer 1, through the arrival's own hidden layer
	backEffects  = 32 // of the way back i→j→i
)

// Support are the support nodes attached to T at once, as in serving, and the preprocessing of their features.
type Support struct {
	Batch *attach.Batch
	Pre   *preprocess.Parameters
	Slots []float32 // shares of the slots of the tables ([graph.Slots.Shares])
	// Units are the standard deviations of the outputs of a task of numbers, or 1 for each label: messages are in these
	// units, with their means. nil: outputs are logits of classes, whose mean changes no prediction.
	Units []float64
}

// NewSupport attaches support nodes on T to tables of slots.
func NewSupport(b *attach.Batch, pre *preprocess.Parameters, slots graph.Slots) Support {
	read := b.InSlots(&slots)
	return Support{Batch: read, Pre: pre, Slots: slots.Shares(read.R)}
}

// degree is deg_i, edges in ã included.
func (s Support) degree(i int) float64 { return float64(s.Batch.Degree(i)) }

// mean is the mean of f over the edges from support nodes to T, by their weights; 1 where there are none.
func (s Support) mean(f func(i int) float64) float64 {
	edges := s.edges()
	if edges == 0 {
		return 1
	}
	sum := 0.0
	for i := range s.Batch.Len() {
		if known := s.Batch.ToKnown(i); known > 0 {
			sum += float64(known) * f(i)
		}
	}
	return sum / edges
}

// MessagesOf measures on the support nodes how a model's tables become messages: the numbers that an arrival reads of a
// node of T, in units of their effect on the logits (docs/algorithm.md, section 5, step 3). tables are the model's on
// T.
//
//	hops    [u_{K−1}·s_{K−1}, …, u_0·s_0, c·cs]; of SGC with K = 2 s = 1, RMS of 1/D_i and cs = RMS of ‖z_i‖/√D_i
//	layers  [u_{L−1} less its class mean, …, u_0·P0, c·Pc]
//
// Numbers are measured in units of their standard deviations, and logits of labels as they are: u·diag(s/σ) in place of
// u less its class mean.
func MessagesOf(m infer.Model, tables *infer.Tables, s Support) growth.Messages {
	parts := hopMessages
	switch {
	case m.Architecture.Relational():
		parts = relationalMessages
	case m.Architecture.Convolves():
		parts = layerMessages
	}
	out := parts(m, tables, s)
	for _, share := range s.Slots {
		out.Slots = append(out.Slots, float32(math.Sqrt(float64(share))))
	}
	return out
}

// layerMessages are the messages for layers that read neighbours. A change of an arrival's state behind layer l has the
// effect E_l on its logits, through the later layers' weights on the node itself (with a self-loop, through Wn) and the
// mean masks μ of their relus:
//
//	E_{L−1} = Wo of layer L      E_l = Wo of layer l+1 · diag(μ_{l+1}) · E_{l+1}
func layerMessages(m infer.Model, t *infer.Tables, s Support) growth.Messages {
	op, last := m.Architecture.Operator, len(m.Layers)-1
	factor := byDegree{s: func(d float64) float64 { _, out := op.Scales(d); return out },
		back: func(d float64) float64 { in, _ := op.Scales(d); return in }, kappa: func(float64) float64 { return 1 }}
	if op.Loops {
		factor.kappa = func(d float64) float64 { in, out := op.Scales(d); return in * out }
	}
	states, messages := m.Frozen(t, s.Pre).(interface {
		States(b *attach.Batch) (states, messages []*graph.Dense)
	}).States(s.Batch)
	out := growth.Messages{U: []growth.Part{s.part(1)}}
	var ways []*graph.Dense
	var effect *graph.Dense // E_{l+1} behind the mask of layer l+1
	for l := last - 1; l >= 0; l-- {
		next := m.Layers[l+1]
		own, onward := next.Self, next.Neighbours
		if own == nil {
			own = next.Neighbours
		}
		if effect != nil {
			own, onward = graph.MulDense(own, effect), graph.MulDense(onward, effect)
		}
		mask := masks(states[l])
		steps := float64(last - 1 - l) // layers of the arrival's own between this one and the last
		out.U = append(out.U, growth.Part{Factor: factor.effects(s, mask, own, steps+1, nil, firstEffects)})
		ways = append(ways, factor.effects(s, messages[l], onward, steps, factor.back, backEffects))
		effect = masked(own, mask)
	}
	slices.Reverse(out.U)
	slices.Reverse(ways)
	out.C.Factor = diagonal(ways, t.C.Cols)
	return out
}

// relationalMessages returns the messages of layers that read relations: [u_L less its class mean, …, u_1·P1]. The
// scale of a relation contains an arrival's share of the mean. No message goes back to an arrival's neighbours.
func relationalMessages(m infer.Model, t *infer.Tables, s Support) growth.Messages {
	last, blocks := len(m.Layers)-1, m.Architecture.Blocks()
	out := growth.Messages{U: make([]growth.Part, last+1)}
	out.U[last].Scale = 1
	one := func(float64) float64 { return 1 }
	factor := byDegree{s: one, back: one, kappa: one}
	states := m.Frozen(t, s.Pre).(interface {
		States(b *attach.Batch) []*graph.Dense
	}).States(s.Batch)
	var effect *graph.Dense
	for l := last - 1; l >= 0; l-- {
		own := m.Layers[l+1].Block(0, blocks)
		if effect != nil {
			own = graph.MulDense(own, effect)
		}
		mask := masks(states[l])
		out.U[l].Factor = factor.effects(s, mask, own, 0, nil, firstEffects)
		effect = masked(own, mask)
	}
	return out
}

// byDegree are factors by deg_i: s of u_{L−1}, relative to it κ of each layer of the arrival's own, and of the way
// back.
type byDegree struct{ s, kappa, back func(degree float64) float64 }

// masks are 1 where a hidden layer lets through, n×h.
func masks(hidden *graph.Dense) *graph.Dense {
	out := graph.NewDense(hidden.Rows, hidden.Cols)
	for k, v := range hidden.Data {
		if v > 0 {
			out.Data[k] = 1
		}
	}
	return out
}

// masked is diag(column means of the mask)·w.
func masked(w, mask *graph.Dense) *graph.Dense {
	out := w.Clone()
	for k := range w.Rows {
		sum := float32(0)
		for i := range mask.Rows {
			sum += mask.Row(i)[k]
		}
		for c := range out.Row(k) {
			out.Row(k)[c] *= sum / float32(max(1, mask.Rows))
		}
	}
	return out
}

// diagonal puts blocks on the diagonal of a matrix of so many rows; a single one that fills it is returned as it
// is.
func diagonal(blocks []*graph.Dense, rows int) *graph.Dense {
	if len(blocks) == 1 && blocks[0].Rows == rows {
		return blocks[0]
	}
	width := 0
	for _, b := range blocks {
		width += b.Cols
	}
	out := graph.NewDense(rows, width)
	row, col := 0, 0
	for _, b := range blocks {
		for i := range b.Rows {
			copy(out.Row(row + i)[col:], b.Row(i))
		}
		row, col = row+b.Rows, col+b.Cols
	}
	return out
}

// effects returns P (h×k) with PPᵀ ≈ (W̄ W̄ᵀ) ∘ E[s²κ² rᵀr]/E[s²], the mean squared effect on the logits, centred or in
// units, of a change in h columns that rows r (n×h) pass on to W (h×C), over the support edges.
func (l byDegree) effects(s Support, rows, w *graph.Dense, kappas float64, back func(float64) float64,
	keep int) *graph.Dense {
	kappa := func(degree float64) float64 {
		factor := math.Pow(l.kappa(degree), kappas)
		if back != nil {
			factor *= back(degree)
		}
		return factor
	}
	weighted := graph.NewDense(rows.Rows, rows.Cols)
	for i := range rows.Rows {
		if known := s.Batch.ToKnown(i); known > 0 {
			factor := math.Sqrt(float64(known)) * l.s(s.degree(i)) * kappa(s.degree(i))
			graph.Axpy(weighted.Row(i), float32(factor), rows.Row(i))
		}
	}
	h := rows.Cols
	wide, bar := mat.NewDense(max(1, rows.Rows), h, nil), mat.NewDense(h, w.Cols, nil)
	for i := range rows.Rows {
		setRow(wide, i, weighted.Row(i))
	}
	for i := range h {
		setRow(bar, i, s.effect(w.Row(i)))
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
	for i := range s.Batch.Len() {
		edges += float64(s.Batch.ToKnown(i))
	}
	return edges
}

// topFactors returns V√(scale·λ) of the largest eigenvalues, h×keep.
func topFactors(m *mat.SymDense, scale float64, keep int) *graph.Dense {
	vectors, values := features.Eigen(m)
	out := graph.NewDense(len(values), keep)
	for k := range keep {
		root := math.Sqrt(max(0, values[k]*scale))
		for i := range values {
			out.Row(i)[k] = float32(root * vectors.At(i, k))
		}
	}
	return out
}

// hopMessages are the messages for hops. The part of u_t in an arrival goes on through its own self-loops to the last
// hop, with the weights w of the mixture or by a restart,
//
//	s_t = RMS of Σ_n w_{t+1+n} D_i^−n        s_t = RMS of ((1−α)/D_i)^(K−1−t)
//
// and so does the way back of its own z_i, from the second hop on: cs = (s_1 + … + s_{K−1})·RMS of ‖z_i‖/√D_i, or
// by a restart (1−α)·RMS of ‖z_i‖/√D_i.
func hopMessages(m infer.Model, t *infer.Tables, s Support) growth.Messages {
	var out growth.Messages
	keep, sum := 1-float64(m.Alpha), 0.0
	for hop := range t.U {
		scale := math.Sqrt(s.mean(func(i int) float64 {
			if m.Architecture.Mix == nil {
				return sq(math.Pow(keep/(s.degree(i)+1), float64(m.Hops-1-hop)))
			}
			onward := 0.0
			for n, w := range m.Architecture.Mix(m.Alpha, m.Hops)[hop+1:] {
				onward += float64(w) * math.Pow(s.degree(i)+1, -float64(n))
			}
			return sq(onward)
		}))
		if out.U = append(out.U, s.part(scale)); hop > 0 {
			sum += scale
		}
	}
	z := ownAnswers(m, t, s)
	back := math.Sqrt(s.mean(func(i int) float64 { return squaredLength(s.effect(z.Row(i))) / (s.degree(i) + 1) }))
	if m.Architecture.Mix == nil {
		sum = keep
	}
	out.C.Scale = float32(sum * back)
	return out
}

// part is the part of the messages that a table of outputs becomes.
func (s Support) part(scale float64) growth.Part {
	if s.Units == nil {
		return growth.Part{Scale: float32(scale)}
	}
	factor := graph.NewDense(len(s.Units), len(s.Units))
	for k, unit := range s.Units {
		factor.Row(k)[k] = float32(scale / unit)
	}
	return growth.Part{Factor: factor}
}

// effect is a row of outputs in the units of the messages.
func (s Support) effect(row []float32) []float32 {
	if s.Units == nil {
		return centred(row)
	}
	out := make([]float32, len(row))
	for k, v := range row {
		out[k] = float32(float64(v) / s.Units[k])
	}
	return out
}

// ownAnswers are z of the support nodes before any hop, n×C.
func ownAnswers(m infer.Model, t *infer.Tables, s Support) *graph.Dense {
	if m.Architecture.Mix != nil {
		return s.Pre.Fold(m.Layers[0].Self).Apply(s.Batch.X)
	}
	last := m.Layers[len(m.Layers)-1]
	return graph.MulDense(m.Frozen(t, s.Pre).(infer.Embedder).Embeddings(s.Batch), last.Self).AddRow(last.Bias)
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
