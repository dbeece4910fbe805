package infer_test

import (
	"fmt"
	"math"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/test/reference"
)

// The known answers of testdata/README.md are float64; this code computes in float32.
const (
	goldenTol   = 1e-5
	goldenAlpha = 0.9
)

// goldenWeights describes how the known answers call the weights of each model under test. A model that is listed
// here is held to all of its known answers.
var goldenWeights = map[string]map[string]string{ // model -> name of the parameter -> name in the file
	"sgc": {"lin.weight": "W", "lin.bias": "b"},
	"gcn": {"convs.0.lin.weight": "W1", "convs.0.bias": "b1", "convs.1.lin.weight": "W2", "convs.1.bias": "b2"},
	"sage": {
		"convs.0.lin_l.weight": "Wn1", "convs.0.lin_r.weight": "Ws1", "convs.0.lin_l.bias": "b1",
		"convs.1.lin_l.weight": "Wn2", "convs.1.lin_r.weight": "Ws2", "convs.1.lin_l.bias": "b2",
	},
	"appnp": {"lins.0.weight": "W1", "lins.0.bias": "b1", "lins.1.weight": "W2", "lins.1.bias": "b2"},
	"cheby": {
		"convs.0.lins.0.weight": "W0_1", "convs.0.lins.1.weight": "W1_1", "convs.0.bias": "b1",
		"convs.1.lins.0.weight": "W0_2", "convs.1.lins.1.weight": "W1_2", "convs.1.bias": "b2",
	},
}

// golden is the small graph of the known answers.
type golden struct {
	*reference.Goldens
	adj, x, mapping   reference.Matrix
	labels, synLabels []int
	pre               *preprocess.Parameters
}

func readGolden(t *testing.T) *golden {
	t.Helper()
	g, err := reference.ReadGoldens("testdata/attachment.npz")
	expect.OK(t, err)
	return &golden{Goldens: g, adj: g.Matrix("A"), x: g.Matrix("X"), mapping: g.Matrix("M"), labels: g.Ints("Y"),
		synLabels: g.Ints("Y_syn"), pre: &preprocess.Parameters{Kind: preprocess.None, Scale: 1}}
}

// model builds a model from the weights of the known answers.
func (g *golden) model(t *testing.T, name string) infer.Model {
	t.Helper()
	var params []infer.Param
	for param, in := range goldenWeights[name] {
		params = append(params, infer.Param{Name: param, Value: dense(g.Matrix(name + ".weights." + in))})
	}
	if name == "appnp" {
		params = append(params, scalar("alpha", 0.1), scalar("hops", 10))
	}
	m, err := infer.Build(name, params)
	expect.OK(t, err)
	return m
}

func scalar(name string, v float32) infer.Param {
	return infer.Param{Name: name, Value: &graph.Dense{Rows: 1, Cols: 1, Data: []float32{v}}}
}

// nodes returns the graph of a side, "T" or "S", with its features and labels.
func (g *golden) nodes(side string) (*graph.CSR, preprocess.Inputs, []int32) {
	if side == "S" {
		adj := g.Matrix("A_syn")
		return sparse(adj, len(adj), len(adj)), preprocess.Ready(dense(g.Matrix("X_syn"))), classes(g.synLabels)
	}
	return pattern(g.adj, len(g.adj), len(g.adj)), g.pre.Raw(graph.Features{Dense: dense(g.x)}), classes(g.labels)
}

// reference returns the oracle's batch of the arrivals on a side.
func (g *golden) reference(side, kind string) reference.Arrivals {
	a, among, x := g.Matrix("a"), g.Matrix("a_tilde"), g.Matrix("x")
	if kind == "node" {
		among = reference.New(len(a), len(a))
	}
	if side == "S" {
		return reference.OnS(a, g.mapping, among, x)
	}
	return reference.OnT(a, among, x)
}

// batch returns the arrivals on a side in a "graph" or a "node" batch; on S through Attach.
func (g *golden) batch(side, kind string) *attach.Batch {
	a, among, x := g.Matrix("a"), g.Matrix("a_tilde"), g.Matrix("x")
	n := len(a)
	b := &attach.Batch{X: graph.Features{Dense: dense(x)}}
	b.R, b.Known = attach.Attach(neighbours(a, g.mapping), g.mapping.Cols())
	if side == "T" {
		b.R = pattern(a, n, len(g.adj))
	}
	if kind == "graph" {
		b.Adj = pattern(among, n, n)
	}
	return b
}

// sides runs f for every graph and kind of batch.
func (g *golden) sides(f func(side, kind, where string)) {
	for _, side := range []string{"T", "S"} {
		for _, kind := range []string{"graph", "node"} {
			f(side, kind, side+"."+kind)
		}
	}
}

// tables reads a model's known tables of a side.
func (g *golden) tables(name, side string, hops int) *infer.Tables {
	prefix := name + ".tables." + side
	t := &infer.Tables{C: dense(g.Matrix(prefix + ".c"))}
	for hop := range hops {
		t.U = append(t.U, dense(g.Matrix(fmt.Sprintf("%s.u%d", prefix, hop))))
	}
	return t
}

// onSide picks T's tables, or makes those of S by section 5, step 4.
func (g *golden) onSide(side string, t reference.Tables) *infer.Tables {
	if side == "S" {
		t = reference.RidgeTables(g.adj, g.mapping, t)
	}
	return tables(t)
}

func (g *golden) allUsed(t *testing.T, prefix string) {
	t.Helper()
	if names := g.Unused(prefix); names != nil {
		t.Errorf("known answers not compared with: %v", names)
	}
}

func TestEq11Joint(t *testing.T) {
	g := readGolden(t)
	for name := range goldenWeights {
		m := g.model(t, name)
		g.sides(func(side, kind, where string) {
			adj, x, _ := g.nodes(side)
			got := m.Joint(adj, x, g.pre).Logits(g.batch(side, kind))
			near(t, name+".joint."+where, got, g.Matrix(name+".joint."+where), goldenTol)
		})
		g.allUsed(t, name+".joint.")
	}
}

func TestSection2TablesOfT(t *testing.T) {
	g := readGolden(t)
	adj, x, _ := g.nodes("T")
	for name := range goldenWeights {
		got := g.model(t, name).Tables(adj, x)
		for hop, u := range got.U {
			near(t, fmt.Sprintf("%s u%d", name, hop), u, g.Matrix(fmt.Sprintf("%s.tables.T.u%d", name, hop)), goldenTol)
		}
		near(t, name+" c", got.C, g.Matrix(name+".tables.T.c"), goldenTol)
		g.allUsed(t, name+".tables.T.")
	}
}

func TestSection2Frozen(t *testing.T) {
	g := readGolden(t)
	adj, x, _ := g.nodes("T")
	for name := range goldenWeights {
		m := g.model(t, name)
		own := m.Tables(adj, x)
		g.sides(func(side, kind, where string) {
			want := g.Matrix(name + ".frozen." + where)
			got := m.Frozen(g.tables(name, side, len(own.U)), g.pre).Logits(g.batch(side, kind))
			near(t, name+".frozen."+where, got, want, goldenTol)
			if side == "T" {
				got = m.Frozen(own, g.pre).Logits(g.batch(side, kind))
				near(t, name+".frozen."+where+" on tables of its own", got, want, goldenTol)
			}
		})
		g.allUsed(t, name+".frozen.")
	}
}

// On T, frozen in a node batch is each arrival joined alone, exact for SGC where the arrival closes no triangle.
func TestSection2FrozenIsAloneButForTriangles(t *testing.T) {
	g := readGolden(t)
	adj, x, _ := g.nodes("T")
	m := g.model(t, "sgc")
	frozen := m.Frozen(m.Tables(adj, x), g.pre).Logits(g.batch("T", "node"))
	joint := m.Joint(adj, x, g.pre)
	alone := g.Matrix("sgc.alone.T")
	batch, exact := g.reference("T", "node"), 0
	for i := range alone {
		row := []int32{int32(i)}
		one := joint.Logits(take(g.batch("T", "node"), row))
		near(t, fmt.Sprintf("arrival %d joined alone", i), one, reference.Matrix{alone[i]}, goldenTol)
		if !closesTriangle(batch, g.adj, i) {
			near(t, fmt.Sprintf("arrival %d frozen", i), frozen.Take(row), reference.Matrix{alone[i]}, goldenTol)
			exact++
		}
	}
	if exact < 3 {
		t.Errorf("only %d arrivals close no triangle: the case shows nothing", exact)
	}
}

// Joining one arrival at a time is what frozen attachment on T stands for, for every model. It is linearised at relus
// and blind to triangles, and these twelve arrivals have few neighbours, on which one more weighs heavily; but it is
// closer than without the arrival's way back to itself.
func TestSection2FrozenIsCloseToAlone(t *testing.T) {
	g := readGolden(t)
	adj, x, _ := g.nodes("T")
	for name := range goldenWeights {
		m := g.model(t, name)
		alone, joint := g.Matrix(name+".alone.T"), m.Joint(adj, x, g.pre)
		for i := range alone {
			one := joint.Logits(take(g.batch("T", "node"), []int32{int32(i)}))
			near(t, fmt.Sprintf("%s: arrival %d joined alone", name, i), one, reference.Matrix{alone[i]}, goldenTol)
		}
		g.allUsed(t, name+".alone.")

		own := m.Tables(adj, x)
		with := apart(m.Frozen(own, g.pre).Logits(g.batch("T", "node")), alone)
		clear(own.C.Data)
		without := apart(m.Frozen(own, g.pre).Logits(g.batch("T", "node")), alone)
		if with > 0.06 || with > 0.6*without {
			t.Errorf("%s: frozen logits are %.2f%% of their size from those of arrivals joined alone, %.2f%% without the way "+
				"back",
				name, 100*with, 100*without)
		}
	}
}

// apart is the sum of absolute differences, relative to the sum of absolute values wanted.
func apart(got *graph.Dense, want reference.Matrix) float64 {
	sum, size := 0.0, 0.0
	for i := range want {
		for k, v := range want[i] {
			sum += math.Abs(float64(got.Row(i)[k]) - v)
			size += math.Abs(v)
		}
	}
	return sum / size
}

func TestSection6LabelPropagation(t *testing.T) {
	g := readGolden(t)
	const c = 3
	seeds := LabelSeeds(g.labels, c)
	adj, _, labels := g.nodes("T")
	own := infer.PropagationTables(adj, infer.LabelSeeds(labels, c), goldenAlpha)
	exact := PropagationTables(g.adj, seeds, goldenAlpha)
	g.sides(func(side, kind, where string) {
		b := g.batch(side, kind)
		adj, _, labels := g.nodes(side)
		// The known answers are not normalised; published probabilities are.
		want := g.Matrix("lp.joint." + where)
		near(t, "lp.joint."+where, infer.JointLabels(adj, labels, c, goldenAlpha).Propagate(b), NormaliseRows(want),
			goldenTol)

		want = g.Matrix("lp.frozen." + where)
		on := g.onSide(side, exact)
		near(t, "lp.frozen."+where, infer.FrozenPropagation(on, goldenAlpha, false).Propagate(b), want, goldenTol)
		near(t, "normalised lp.frozen."+where, infer.FrozenPropagation(on, goldenAlpha, true).Propagate(b),
			NormaliseRows(want), goldenTol)
		if side == "T" {
			near(t, "lp.frozen."+where+" on tables of its own", infer.FrozenPropagation(own, goldenAlpha, false).Propagate(b),
				want, goldenTol)
		}
	})
	for step, u := range own.U {
		near(t, fmt.Sprintf("table %d of T", step), u, exact.U[step], goldenTol)
	}
	g.allUsed(t, "lp.")
}

func TestSection6ErrorPropagation(t *testing.T) {
	g := readGolden(t)
	sgc := reference.SGC{W: g.Matrix("sgc.weights.W"), B: g.Vector("sgc.weights.b")}
	gcn := GCN(Layer{Wn: g.Matrix("gcn.weights.W1"), B: g.Vector("gcn.weights.b1")},
		Layer{Wn: g.Matrix("gcn.weights.W2"), B: g.Vector("gcn.weights.b2")})
	logits := map[string]reference.Matrix{"sgc": sgc.On(g.adj, g.x), "gcn": gcn.On(g.adj, g.x)}
	g.sides(func(side, kind, where string) {
		b := g.batch(side, kind)
		adj, x, labels := g.nodes(side)
		for _, name := range []string{"sgc", "gcn"} {
			joint := g.model(t, name).Joint(adj, x, g.pre).(infer.NodeLogits)
			got := infer.JointErrors(adj, labels, joint, goldenAlpha).Propagate(b)
			near(t, name+".ep.joint."+where, got, g.Matrix(name+".ep.joint."+where), goldenTol)

			want := g.Matrix(name + ".ep.frozen." + where)
			exact := PropagationTables(g.adj, ErrorSeeds(g.labels, logits[name]), goldenAlpha)
			near(t, name+".ep.frozen."+where, infer.FrozenPropagation(g.onSide(side, exact), goldenAlpha, false).Propagate(b),
				want, goldenTol)
			if side == "T" {
				own := infer.PropagationTables(adj, infer.ErrorSeeds(labels, dense(logits[name])), goldenAlpha)
				near(t, name+".ep.frozen."+where+" on tables of its own",
					infer.FrozenPropagation(own, goldenAlpha, false).Propagate(b), want, goldenTol)
			}
		}
	})
	g.allUsed(t, "sgc.ep.")
	g.allUsed(t, "gcn.ep.")
}
