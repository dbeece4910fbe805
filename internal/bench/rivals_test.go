package bench

import (
	"context"
	"fmt"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
)

// Sections that only the tests measure.
const (
	kernels = "kernels"
	rivals  = "rivals"
)

// Rivals of S, which all answer the same arrivals.
const (
	onCondensed = "S"             // frozen on S, as it is served
	cached      = "cached"        // frozen on T: T's own tables, the method cached
	near        = "neighbourhood" // joined to T, and computed for the neighbourhood that the answers depend on
	whole       = "Whole"         // joined to the whole of T
)

// rivals measures S and its rivals in turn, with batches of one arrival and of a thousand. Whole and neighbourhood have
// their first weights multiplied beforehand.
func (b *suite) rivals(ctx context.Context) error {
	for k := range b.shapes {
		shape := &b.shapes[k]
		b.Progress.Live("rivals " + shape.Name + ": drawing the original graph")
		bundle, err := shape.Bundle(b.models)
		if err != nil {
			return err
		}
		adj := shape.original()
		for _, a := range b.models {
			r, err := newRivalry(shape, bundle, adj, a)
			if err != nil {
				return err
			}
			for _, size := range []int{1, 1000} {
				name := fmt.Sprintf("%s/%s/batch=%d", shape.Name, a.Name, size)
				b.Progress.Live("rivals " + name)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				sides, err := r.sides(size)
				if err != nil {
					return err
				}
				b.beside(name, size, sides)
			}
		}
	}
	return nil
}

// beside measures sides in turn; the others are compared with the first.
func (b *suite) beside(name string, size int, sides []side) {
	t := inTurn(b.Time, sides)
	for s := range sides {
		figures := perBatch(&t[s], size)
		figures["times S"], figures["CPU times S"] = ratios(&t[s], &t[0])
		b.report.add(rivals, name+"/"+sides[s].name, t[s].runs, figures)
	}
}

// rivalry is a model on S and on T in each of the ways that there are.
type rivalry struct {
	shape  *Shape
	bundle *artifact.Bundle
	model  string
	on     []rival // on T
}

// rival answers batches on T.
type rival struct {
	name string
	by   infer.Predictor
}

func newRivalry(shape *Shape, bundle *artifact.Bundle, adj *graph.CSR, a *architecture.Architecture) (*rivalry, error) {
	m, err := shape.model(a)
	if err != nil {
		return nil, err
	}
	pre, inputs := shape.preprocess(), drawnInputs{shape}
	r := &rivalry{shape: shape, bundle: bundle, model: a.Name}
	calibration := infer.Calibration{Kind: propagation.None, Temperature: 1}
	for _, on := range []rival{{cached, infer.Predictor{Model: m.Frozen(m.Tables(adj, inputs), &pre)}},
		{near, infer.Predictor{Model: m.Neighbourhood(adj, inputs, &pre)}},
		{whole, infer.Predictor{Model: m.Joint(adj, inputs, &pre)}}} {
		on.by.Calibration = calibration
		r.on = append(r.on, on)
	}
	return r, nil
}

// sides are S and its rivals, each with the same arrivals.
func (r *rivalry) sides(size int) ([]side, error) {
	version, err := served(r.bundle, r.model, artifact.AttachFrozen)
	if err != nil {
		return nil, err
	}
	out := []side{onS(onCondensed, r.shape, version, size)}
	batches := r.shape.batches(r.shape.rng("arrivals"), size)
	for _, on := range r.on {
		out = append(out, side{name: on.name, run: func(k int) {
			on.by.Predict(batches[k%len(batches)].onOriginal(r.shape.Original))
		}})
	}
	return out, nil
}

// onOriginal is the arrivals as a node batch on T.
func (a *arrivals) onOriginal(nodes int) *attach.Batch {
	n := len(a.neighbours)
	b := &attach.Batch{X: a.x, R: &graph.CSR{Rows: n, Cols: nodes, RowPtr: make([]int, n+1)}, Known: make([]int32, n)}
	for i, of := range a.neighbours {
		b.R.ColIdx = append(b.R.ColIdx, of...)
		b.R.RowPtr[i+1] = len(b.R.ColIdx)
		b.Known[i] = int32(len(of))
	}
	return b
}

// original draws T's adjacency matrix, a symmetric pattern without a diagonal: about Entries, as edges that
// are drawn twice count once.
func (s *Shape) original() *graph.CSR {
	rng := s.rng("original")
	from, to := make([]int32, 0, s.Entries), make([]int32, 0, s.Entries)
	for len(from) < s.Entries-1 {
		if i, j := s.endpoint(rng), s.endpoint(rng); i != j {
			from, to = append(from, i, j), append(to, j, i)
		}
	}
	m := &graph.CSR{Rows: s.Original, Cols: s.Original, RowPtr: make([]int, s.Original+1)}
	for _, i := range from {
		m.RowPtr[i+1]++
	}
	for i := range s.Original {
		m.RowPtr[i+1] += m.RowPtr[i]
	}
	next := slices.Clone(m.RowPtr)
	m.ColIdx = make([]int32, len(to))
	for e, i := range from {
		m.ColIdx[next[i]] = to[e]
		next[i]++
	}
	return withoutRepeats(m)
}

// withoutRepeats sorts the columns of each row and drops repeated ones.
func withoutRepeats(m *graph.CSR) *graph.CSR {
	kept := m.ColIdx[:0]
	start := 0
	for i := range m.Rows {
		row := m.ColIdx[start:m.RowPtr[i+1]]
		start = m.RowPtr[i+1]
		slices.Sort(row)
		kept = append(kept, slices.Compact(row)...)
		m.RowPtr[i+1] = len(kept)
	}
	m.ColIdx = kept
	return m
}

// drawnInputs stand for T's preprocessed features: it draws their product with a first weight matrix, as the features
// themselves would take Original·Features numbers. The rivals multiply by that matrix once, before the first batch, so
// that no figure includes it.
type drawnInputs struct{ shape *Shape }

// Project returns N×h.
func (d drawnInputs) Project(w *graph.Dense) *graph.Dense {
	return dense(d.shape.rng("features"), d.shape.Original, w.Cols, 1)
}

// Matrix returns N×d.
func (d drawnInputs) Matrix() *graph.Dense {
	return dense(d.shape.rng("features"), d.shape.Original, d.shape.Features, 1)
}

// kernels measures the dense products by themselves: x·W of 1000 arrivals in the first matrix of each shape's
// sgc and gcn, by the row-stable kernel that serves, by the fast one that trains, and by a plain loop in Go.
func (b *suite) kernels(ctx context.Context) error {
	const n = 1000
	for k := range b.shapes {
		shape := &b.shapes[k]
		for _, width := range []int{shape.Classes, hidden} {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			name := fmt.Sprintf("%s/%dx%dx%d", shape.Name, n, shape.Features, width)
			b.Progress.Live("kernels " + name)
			rng := shape.rng("kernels")
			x, w := dense(rng, n, shape.Features, 1), dense(rng, shape.Features, width, 1)
			sides := []side{
				{name: "row-stable", run: func(int) { stableMul(x, w) }},
				{name: "fast", run: func(int) { gemm.Mul(gemm.Of(x), gemm.Of(w)) }},
				{name: "plain", run: func(int) { plainMul(x, w) }},
			}
			t := inTurn(b.Time, sides)
			for s := range sides {
				wall, cpu := ratios(&t[2], &t[s])
				b.report.add(kernels, name+"/"+sides[s].name, t[s].runs, map[string]float64{"µs/batch": t[s].median() * 1e6,
					"GFLOP/s": 2 * n * float64(shape.Features) * float64(width) / t[s].median() / 1e9, "plain's time": wall,
					"plain's CPU": cpu})
			}
		}
	}
	return nil
}

// stableMul is x·w by the kernel whose rows depend on their own row alone.
func stableMul(x, w *graph.Dense) *graph.Dense {
	out := graph.NewDense(x.Rows, w.Cols)
	graph.ParallelRows(x.Rows, x.Rows*x.Cols*w.Cols, func(lo, hi int) { graph.AddProduct(out, x, w, lo, hi) })
	return out
}

// plainMul is x·w as one would write it: on one core, without vectors or blocks.
func plainMul(x, w *graph.Dense) *graph.Dense {
	out := graph.NewDense(x.Rows, w.Cols)
	for i := range x.Rows {
		y := out.Row(i)
		for k, v := range x.Row(i) {
			for j, u := range w.Row(k) {
				y[j] += v * u
			}
		}
	}
	return out
}

// ratios returns how many times as long a took as b, and how many times the CPU seconds, by the
// medians of the rounds.
func ratios(a, b *timing) (wall, cpu float64) {
	return median(quotients(a.seconds[:], b.seconds[:])), median(quotients(a.cpu[:], b.cpu[:]))
}
