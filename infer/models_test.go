package infer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/infertest"
	"rivulet/test/reference"
)

// candidate is one model of a world, as the code under test has it and as the oracle has it.
type candidate struct {
	name   string
	oracle Model
	own    infer.Model
	first  reference.Matrix // d×: the first layer's weights side by side
	gain   float64          // bounds what the second layer multiplies the first one's sums by
}

// drawCandidates makes all models with weights from rng and the given number of hidden units.
func drawCandidates(rng *rand.Rand, w *world, hidden int) []candidate {
	d, c := w.features, w.classes()
	weights := func(r, c int) reference.Matrix {
		return reference.At(r, c, func(_, _ int) float64 { return float64(float32(rng.NormFloat64())) })
	}
	first := func() reference.Matrix { return weights(d, hidden) }
	second := func() reference.Matrix { return weights(hidden, c) }
	b1, b2 := weights(1, hidden)[0], weights(1, c)[0]

	gcn := GCN(Layer{Wn: first(), B: b1}, Layer{Wn: second(), B: b2})
	sage := SAGE(Layer{Wn: first(), Ws: first(), B: b1}, Layer{Wn: second(), Ws: second(), B: b2})
	appnp := APPNP{W1: first(), B1: b1, W2: second(), B2: b2, Alpha: float64(float32(0.05 + 0.9*rng.Float64())),
		Hops: 1 + rng.IntN(10)}
	cheby := Cheby{W1: []reference.Matrix{first(), first()}, B1: b1, W2: []reference.Matrix{second(), second()}, B2: b2}
	cubic := Cheby{W1: append(cheby.W1[:2:2], first()), B1: b1, W2: append(cheby.W2[:2:2], second()), B2: b2}
	middle := weights(1, hidden)[0]
	deepGCN := GCN(gcn.Layers[0], Layer{Wn: weights(hidden, hidden), B: middle}, gcn.Layers[1])
	deepSAGE := SAGE(sage.Layers[0], Layer{Wn: weights(hidden, hidden), Ws: weights(hidden, hidden), B: middle},
		Layer{Wn: weights(hidden, hidden), Ws: weights(hidden, hidden), B: middle}, sage.Layers[1])
	out := []candidate{
		{"sgc", w.model, w.sgc(), w.model.W, 1},
		convolved("gcn", gcn), convolved("sage", sage), convolved("gcn of 3 layers", deepGCN),
		convolved("sage of 4 layers", deepSAGE),
		{"appnp", appnp, infertest.Model("appnp", float32(appnp.Alpha), appnp.Hops,
			architecture.Layer{Self: dense(appnp.W1), Bias: floats(b1)},
			architecture.Layer{Self: dense(appnp.W2), Bias: floats(b2)}), appnp.W1, columnSum(appnp.W2)},
		{"cheby", cheby, infertest.Model("cheby", 0, 0,
			architecture.Layer{Neighbours: dense(cheby.W1[1].Times(-1)), Self: dense(cheby.W1[0]), Bias: floats(b1)},
			architecture.Layer{Neighbours: dense(cheby.W2[1].Times(-1)), Self: dense(cheby.W2[0]), Bias: floats(b2)}),
			beside(cheby.W1...), columnSum(cheby.W2...)},
		{"cheby with K=3", cubic, cubicCheby(all(cubic.W1), all(cubic.W2), floats(b1), floats(b2)), beside(cubic.W1...),
			3 * columnSum(cubic.W2...)},
	}
	for _, hops := range []int{1, 3, 5} {
		deep := w.model
		deep.Hops = hops
		out = append(out, candidate{fmt.Sprintf("sgc of %d hops", hops), deep,
			infertest.Model("sgc", 0, hops, architecture.Layer{Self: dense(deep.W), Bias: floats(deep.B)}), deep.W, 1})
	}
	const alpha, hops = 0.25, 4
	mean := w.model
	mean.Hops, mean.Mix = hops, []float64{alpha}
	for range hops {
		mean.Mix = append(mean.Mix, (1-alpha)/hops)
	}
	return append(out, candidate{"ssgc", mean,
		infertest.Model("ssgc", alpha, hops, architecture.Layer{Self: dense(mean.W), Bias: floats(mean.B)}), mean.W, 1})
}

// convolved is a network of layers that read neighbours; its architecture is the first word of the name.
func convolved(name string, c Convolution) candidate {
	var layers []architecture.Layer
	gain := 1.0
	for k, l := range c.Layers {
		layer, read := architecture.Layer{Neighbours: dense(l.Wn), Bias: floats(l.B)}, []reference.Matrix{l.Wn}
		if l.Ws != nil {
			layer.Self, read = dense(l.Ws), append(read, l.Ws)
		}
		if layers = append(layers, layer); k > 0 {
			gain *= columnSum(read...)
		}
	}
	first := c.Layers[0].Wn
	if c.Layers[0].Ws != nil {
		first = beside(first, c.Layers[0].Ws)
	}
	architecture, _, _ := strings.Cut(name, " ")
	return candidate{name, c, infertest.Model(architecture, 0, 0, layers...), first, gain}
}

func all(m []reference.Matrix) []*graph.Dense {
	var out []*graph.Dense
	for _, x := range m {
		out = append(out, dense(x))
	}
	return out
}

func beside(m ...reference.Matrix) reference.Matrix {
	out := reference.Matrix{}
	for _, x := range m {
		out = append(out, x.T()...)
	}
	return out.T()
}

// columnSum is the largest sum of absolute values over a column of the matrices one below the other.
func columnSum(m ...reference.Matrix) float64 {
	out := 1.0
	for k := range m[0].Cols() {
		sum := 1.0
		for _, x := range m {
			for i := range x {
				sum += math.Abs(x[i][k])
			}
		}
		out = max(out, sum)
	}
	return out
}

// tolerance is that of logits which grow out of sums of the given features of a graph.
func (w *world) tolerance(c candidate, x reference.Matrix) float64 {
	return oracleTol * c.gain * (1 + max(w.magnitudeThrough(c.first), 3*largest(x.Mul(c.first))))
}

// relus is a model whose frozen tables hold relus: Met are their inputs.
type relus interface {
	Met(graph, x reference.Matrix) reference.Matrix
}

func TestSection2TablesAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		adj, x, _, oracleX, _ := w.graph("T")
		for _, c := range w.candidates {
			if infer.Freezable(c.own) != nil {
				continue
			}
			got, want := c.own.Tables(adj, x), c.oracle.Tables(w.adj, oracleX)
			tol := w.tolerance(c, oracleX)
			if len(got.U) != len(want.U) {
				t.Fatalf("%s: %d tables, want %d", c.name, len(got.U), len(want.U))
			}
			for hop, u := range got.U {
				near(t, fmt.Sprintf("%s u%d", c.name, hop), u, want.U[hop], tol)
			}
			if m, ok := c.oracle.(relus); ok { // where p is 0 to rounding, either side of the relu is right
				for j, p := range m.Met(w.adj, oracleX) {
					for k, v := range p {
						if math.Abs(v) < tol {
							want.C[j][k] = float64(got.C.Row(j)[k])
						}
					}
				}
			}
			near(t, c.name+" c", got.C, want.C, oracleTol)
		}
	})
}

func TestEq11JointAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, side := range []string{"T", "S"} {
			adj, x, oracleAdj, oracleX, _ := w.graph(side)
			for _, c := range w.candidates {
				joint := c.own.Joint(adj, x, w.preprocess()).(infer.NodeLogits)
				for _, graphBatch := range []bool{false, true} {
					b := w.batch(side, graphBatch)
					nodes, arrivals := Joint(c.oracle, oracleAdj, oracleX, w.oracle(side, graphBatch))
					tol := w.tolerance(c, oracleX)
					near(t, fmt.Sprintf("%s on %s, arrivals", c.name, side), joint.Logits(b), arrivals, tol)
					near(t, fmt.Sprintf("%s on %s, nodes", c.name, side), joint.GraphLogits(b), nodes, tol)
				}
			}
		}
	})
}

func TestSection2FrozenAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, side := range []string{"T", "S"} {
			for _, c := range w.candidates {
				if infer.Freezable(c.own) != nil {
					continue
				}
				exact := w.oracleTables(side, c.oracle.Tables(w.adj, w.fit.Apply(w.x)))
				frozen := c.own.Frozen(tables(exact), w.preprocess())
				for _, graphBatch := range []bool{false, true} {
					b := w.oracle(side, graphBatch)
					tol := w.tolerance(c, w.fit.Apply(w.x)) + c.gain*w.readTolerance(c, exact, b)
					near(t, c.name+" on "+side, frozen.Logits(w.batch(side, graphBatch)), c.oracle.Frozen(exact, b), tol)
				}
			}
		}
	})
}

// readTolerance is that of sums of tables, whose terms by ridge may be large and cancel.
func (w *world) readTolerance(c candidate, t reference.Tables, b reference.Arrivals) float64 {
	edges := 1.0
	for _, sum := range b.R.RowSums() {
		edges = max(edges, sum)
	}
	terms := largest(t.C) * w.magnitudeThrough(c.first)
	for _, u := range t.U {
		terms = max(terms, largest(u))
	}
	return oracleTol * edges * terms
}

// Eq. 11 over the batch's neighbourhood only, and with nothing kept between batches, is the joint answer, bit for bit.
func TestEq11NeighbourhoodAndPassAreJoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, side := range []string{"T", "S"} {
			adj, x, _, _, _ := w.graph(side)
			for _, c := range w.candidates {
				local := c.own.Neighbourhood(adj, x, w.preprocess())
				joint := c.own.Joint(adj, x, w.preprocess())
				pass := &infer.Pass{Model: c.own, Adj: adj, X: x, Preprocess: w.preprocess()}
				for _, graphBatch := range []bool{false, true} {
					b := w.batch(side, graphBatch)
					want := joint.Logits(b).Data
					sameBits(t, c.name+" on "+side, local.Logits(b).Data, want)
					sameBits(t, c.name+" on "+side+", one pass", pass.Logits(b).Data, want)
				}
			}
		}
	})
}
