package infer_test

import (
	"math/rand/v2"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/infertest"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/test/reference"
)

// neighbours are the rows of M of every arrival's neighbours, as a lookup gives them.
func neighbours(a, mapping reference.Matrix) [][]attach.Row {
	m := sparse(mapping, len(mapping), mapping.Cols())
	out := make([][]attach.Row, len(a))
	for i, edges := range a {
		for j, e := range edges {
			if e != 0 {
				cols, vals := m.Row(j)
				out[i] = append(out[i], attach.Row{Known: true, Cols: cols, Vals: vals})
			}
		}
	}
	return out
}

// take returns some arrivals of a batch, in any order; edges to the others are lost. Of an arrival's neighbours in ã
// the order is kept.
func take(b *attach.Batch, rows []int32) *attach.Batch {
	out := &attach.Batch{X: b.X.Take(rows), R: b.R.Take(rows), Known: make([]int32, len(rows))}
	index := make([]int32, b.Len())
	for i := range index {
		index[i] = -1
	}
	for k, i := range rows {
		out.Known[k] = b.Known[i]
		index[i] = int32(k)
	}
	if b.Adj != nil {
		out.Adj = b.Adj.Submatrix(rows, index, len(rows))
	}
	return out
}

// world is a random T, S, M, model and batch; every number is a float32, so that the oracle gets the same ones.
type world struct {
	adj, x, synAdj, synX, mapping reference.Matrix
	labels, synLabels             []int // −1 where unlabelled
	a, among, arrivals            reference.Matrix
	model                         reference.SGC
	candidates                    []candidate // every model; the first is model
	fit                           reference.Preprocess
	features                      int
}

// drawWorld draws sizes with rapid, so that failures shrink, and fills them from a drawn seed. It makes isolated nodes,
// arrivals without edges, zero feature rows, constant features, empty rows of M, and batches of 0 and 1.
func drawWorld(t *rapid.T) *world {
	size := func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }
	n, syn, d, c := size("N", 1, 14), size("N'", 1, 5), size("d", 1, 8), size("C", 2, 4)
	batch := size("n", 0, 8)
	density := rapid.Float64Range(0, 0.6).Draw(t, "density")
	kind := rapid.SampledFrom([]string{preprocess.L2Center, preprocess.L1, preprocess.Standardize, preprocess.None}).Draw(
		t, "preprocess")
	seed := rapid.Uint64().Draw(t, "seed")
	rng := rand.New(rand.NewPCG(seed, 0))

	some := func(p float64, v float64) float64 {
		if rng.Float64() >= p {
			return 0
		}
		return float64(float32(v))
	}
	features := func(r int) reference.Matrix {
		return reference.At(r, d, func(_, k int) float64 {
			if k == 0 && kind == preprocess.Standardize {
				return 3 // a constant
			}
			return some(0.4, 2*rng.NormFloat64())
		})
	}
	symmetric := func(m int, p float64, weight func() float64) reference.Matrix {
		out := reference.New(m, m)
		for i := range m {
			for j := range i {
				out[i][j] = some(p, weight())
				out[j][i] = out[i][j]
			}
		}
		return out
	}
	one := func() float64 { return 1 }
	label := func(int) int { return rng.IntN(c+1) - 1 }
	w := &world{
		adj: symmetric(n, density, one), x: features(n), features: d,
		synAdj: symmetric(syn, 0.5, rng.Float64), synX: features(syn),
		mapping: reference.At(n, syn, func(_, _ int) float64 { return some(0.5, rng.Float64()) }),
		a:       reference.At(batch, n, func(_, _ int) float64 { return some(density, 1) }),
		among:   symmetric(batch, density, one), arrivals: features(batch),
		model: reference.SGC{W: reference.At(d, c, func(_, _ int) float64 { return some(1, rng.NormFloat64()) })},
	}
	w.mapping[0][0] = 1 // an M of zeros has no tables
	for range c {
		w.model.B = append(w.model.B, some(1, rng.NormFloat64()))
	}
	for i := range n {
		w.labels = append(w.labels, label(i))
	}
	for i := range syn {
		w.synLabels = append(w.synLabels, label(i))
	}
	w.fit = reference.FitPreprocess(kind, w.adj, w.x)
	w.candidates = drawCandidates(rng, w, 1+rng.IntN(4))
	return w
}

func (w *world) classes() int { return len(w.model.B) }

func (w *world) sgc() infer.Model {
	return infertest.Model("sgc", 0, 2, architecture.Layer{Self: dense(w.model.W), Bias: floats(w.model.B)})
}

func (w *world) preprocess() *preprocess.Parameters {
	return &preprocess.Parameters{Kind: w.fit.Kind, Mean: floats(w.fit.Mean), Std: floats(w.fit.Std),
		Scale: float32(w.fit.Scale)}
}

// rows are raw features, sparse or dense.
func (w *world) rows(x reference.Matrix, asSparse bool) graph.Features {
	if asSparse {
		return graph.Features{Sparse: sparse(x, len(x), w.features)}
	}
	out := dense(x)
	out.Cols = w.features // also without rows
	return graph.Features{Dense: out}
}

// batch is the arrivals on "T" or "S".
func (w *world) batch(side string, graphBatch bool) *attach.Batch {
	n := len(w.a)
	b := &attach.Batch{X: w.rows(w.arrivals, true)}
	b.R, b.Known = attach.Attach(neighbours(w.a, w.mapping), w.mapping.Cols())
	if side == "T" {
		b.R = pattern(w.a, n, len(w.adj))
	}
	if graphBatch {
		b.Adj = pattern(w.among, n, n)
	}
	return b
}

// oracle is the same batch for the oracle.
func (w *world) oracle(side string, graphBatch bool) reference.Arrivals {
	among := w.among
	if !graphBatch {
		among = reference.New(len(w.a), len(w.a))
	}
	x := w.fit.Apply(w.arrivals)
	if side == "S" {
		return reference.OnS(w.a, w.mapping, among, x)
	}
	return reference.OnT(w.a, among, x)
}

// graph returns a side's graph for the code under test and for the oracle. X' is preprocessed already.
func (w *world) graph(side string) (adj *graph.CSR, x preprocess.Inputs, oracleAdj, oracleX reference.Matrix,
	labels []int) {
	if side == "S" {
		return sparse(w.synAdj, len(w.synAdj), len(w.synAdj)), preprocess.Ready(dense(w.synX)), w.synAdj, w.synX, w.synLabels
	}
	return pattern(w.adj, len(w.adj), len(w.adj)), w.preprocess().Raw(w.rows(w.x, true)), w.adj, w.fit.Apply(w.x), w.labels
}

// oracleTables picks T's tables, or makes those of S by section 5, step 4.
func (w *world) oracleTables(side string, t reference.Tables) reference.Tables {
	if side == "S" {
		return reference.RidgeTables(w.adj, w.mapping, t)
	}
	return t
}

// frozen returns predictors on frozen tables of a side: every model without propagation, SGC with LP and EP.
func (w *world) frozen(side string) []*infer.Predictor {
	model := w.model
	z := w.fit.Apply(w.x)
	deployed := w.sgc().Frozen(tables(w.oracleTables(side, reference.SGCTables(w.adj, z.Mul(model.W)))), w.preprocess())
	labels := w.oracleTables(side, PropagationTables(w.adj, LabelSeeds(w.labels, w.classes()), 0.9))
	errors := w.oracleTables(side, PropagationTables(w.adj, ErrorSeeds(w.labels, model.On(w.adj, z)), 0.5))
	out := []*infer.Predictor{
		{Model: deployed, Propagation: infer.FrozenPropagation(tables(labels), 0.9, true),
			Calibration: infer.Calibration{Kind: propagation.Labels, Alpha: 0.9, Gamma: 0.7, Temperature: 1}},
		{Model: deployed, Propagation: infer.FrozenPropagation(tables(errors), 0.5, false),
			Calibration: infer.Calibration{Kind: propagation.Errors, Alpha: 0.5, Gamma: 2, Temperature: 0.5}},
	}
	for _, c := range w.candidates {
		if infer.Freezable(c.own) == nil {
			exact := w.oracleTables(side, c.oracle.Tables(w.adj, z))
			out = append(out, plainly(c.own.Frozen(tables(exact), w.preprocess())))
		}
	}
	return out
}

func plainly(d infer.Deployment) *infer.Predictor {
	return &infer.Predictor{Model: d, Calibration: infer.Calibration{Kind: propagation.None, Temperature: 1.5}}
}

// joint returns predictors that run on the graph of a side with the batch in it: every model without propagation, SGC
// with LP and EP.
func (w *world) joint(side string) []*infer.Predictor {
	adj, x, _, _, labels := w.graph(side)
	deployed := w.sgc().Joint(adj, x, w.preprocess())
	out := []*infer.Predictor{
		{Model: deployed, Propagation: infer.JointLabels(adj, classes(labels), w.classes(), 0.9),
			Calibration: infer.Calibration{Kind: propagation.Labels, Alpha: 0.9, Gamma: 0.7, Temperature: 1}},
		{Model: deployed, Propagation: infer.JointErrors(adj, classes(labels), deployed.(infer.NodeLogits), 0.5),
			Calibration: infer.Calibration{Kind: propagation.Errors, Alpha: 0.5, Gamma: 2, Temperature: 0.5}},
	}
	for _, c := range w.candidates {
		out = append(out, plainly(c.own.Joint(adj, x, w.preprocess())))
	}
	return out
}
