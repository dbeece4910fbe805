package reference

import (
	"fmt"
	"math"
	"testing"
)

const (
	goldenFile = "../../infer/testdata/attachment.npz"
	tight      = 1e-10 // the known answers are float64
	alpha      = 0.9   // of the known answers of propagation
)

// goldenCase is the small graph of the known answers.
type goldenCase struct {
	*Goldens
	adj, x, synAdj, synX, mapping Matrix
	labels, synLabels             []int
}

func readGoldenCase(t *testing.T) *goldenCase {
	t.Helper()
	g, err := ReadGoldens(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	return &goldenCase{Goldens: g, adj: g.Matrix("A"), x: g.Matrix("X"), synAdj: g.Matrix("A_syn"), synX: g.Matrix("X_syn"),
		mapping: g.Matrix("M"), labels: g.Ints("Y"), synLabels: g.Ints("Y_syn")}
}

// batch returns the arrivals on "T" or "S", in a "graph" or "node" batch.
func (g *goldenCase) batch(side, kind string) Arrivals {
	a, among, x := g.Matrix("a"), g.Matrix("a_tilde"), g.Matrix("x")
	if kind == "node" {
		among = New(len(a), len(a))
	}
	if side == "S" {
		return OnS(a, g.mapping, among, x)
	}
	return OnT(a, among, x)
}

// graph returns the graph of a side with its features and labels.
func (g *goldenCase) graph(side string) (adj, x Matrix, labels []int) {
	if side == "S" {
		return g.synAdj, g.synX, g.synLabels
	}
	return g.adj, g.x, g.labels
}

func (g *goldenCase) sgc() SGC {
	return SGC{W: g.Matrix("sgc.weights.W"), B: g.Vector("sgc.weights.b")}
}

func (g *goldenCase) gcn() Convolution {
	return GCN(Layer{Wn: g.Matrix("gcn.weights.W1"), B: g.Vector("gcn.weights.b1")}, Layer{Wn: g.Matrix("gcn.weights.W2"), B: g.Vector("gcn.weights.b2")})
}

// models are all the models of the known answers, with their weights.
func (g *goldenCase) models() map[string]Model {
	of := func(model string) (m func(string) Matrix, v func(string) []float64) {
		return func(name string) Matrix { return g.Matrix(model + ".weights." + name) },
			func(name string) []float64 { return g.Vector(model + ".weights." + name) }
	}
	sage, sageBias := of("sage")
	appnp, appnpBias := of("appnp")
	cheby, chebyBias := of("cheby")
	return map[string]Model{
		"sgc": g.sgc(), "gcn": g.gcn(),
		"sage":  SAGE(Layer{sage("Wn1"), sage("Ws1"), sageBias("b1")}, Layer{sage("Wn2"), sage("Ws2"), sageBias("b2")}),
		"appnp": APPNP{appnp("W1"), appnpBias("b1"), appnp("W2"), appnpBias("b2"), 0.1, 10},
		"cheby": Cheby{[]Matrix{cheby("W0_1"), cheby("W1_1")}, chebyBias("b1"), []Matrix{cheby("W0_2"), cheby("W1_2")}, chebyBias("b2")},
	}
}

// sides runs f for every graph and kind of batch; where is the middle and end of a known answer's name, "T.graph".
func (g *goldenCase) sides(f func(side string, b Arrivals, where string)) {
	for _, side := range []string{"T", "S"} {
		for _, kind := range []string{"graph", "node"} {
			f(side, g.batch(side, kind), side+"."+kind)
		}
	}
}

// onSide picks T's tables, or makes those of S from them.
func (g *goldenCase) onSide(side string, t Tables) Tables {
	if side == "S" {
		return RidgeTables(g.adj, g.mapping, t)
	}
	return t
}

func near(t *testing.T, what string, got, want Matrix, tol float64) {
	t.Helper()
	if len(got) != len(want) || got.Cols() != want.Cols() {
		t.Fatalf("%s: shape %d×%d, want %d×%d", what, len(got), got.Cols(), len(want), want.Cols())
	}
	for i := range want {
		for k := range want[i] {
			if !(math.Abs(got[i][k]-want[i][k]) <= tol*(1+math.Abs(want[i][k]))) {
				t.Fatalf("%s: row %d, column %d is %v, want %v", what, i, k, got[i][k], want[i][k])
			}
		}
	}
}

func (g *goldenCase) check(t *testing.T, name string, got Matrix) {
	t.Helper()
	near(t, name, got, g.Matrix(name), tight)
}

// allUsed fails where a known answer whose name begins with MODEL.part. was not compared with.
func (g *goldenCase) allUsed(t *testing.T, part string) {
	t.Helper()
	for name := range g.models() {
		if names := g.Unused(name + part); names != nil {
			t.Errorf("known answers not compared with: %v", names)
		}
	}
}

func TestSection2Tables(t *testing.T) {
	g := readGoldenCase(t)
	for name, m := range g.models() {
		tables := m.Tables(g.adj, g.x)
		for _, side := range []string{"T", "S"} {
			got := g.onSide(side, tables)
			for hop, u := range got.U {
				g.check(t, fmt.Sprintf("%s.tables.%s.u%d", name, side, hop), u)
			}
			g.check(t, name+".tables."+side+".c", got.C)
		}
	}
	g.allUsed(t, ".tables.")
}

func TestEq11Joint(t *testing.T) {
	g := readGoldenCase(t)
	g.sides(func(side string, b Arrivals, where string) {
		adj, x, _ := g.graph(side)
		for name, m := range g.models() {
			_, got := Joint(m, adj, x, b)
			g.check(t, name+".joint."+where, got)
		}
	})
	g.allUsed(t, ".joint.")
}

func TestEq11Alone(t *testing.T) {
	g := readGoldenCase(t)
	for name, m := range g.models() {
		g.check(t, name+".alone.T", Alone(m, g.adj, g.x, g.batch("T", "graph")))
	}
	g.allUsed(t, ".alone.")
}

func TestSection2Frozen(t *testing.T) {
	g := readGoldenCase(t)
	for name, m := range g.models() {
		tables := m.Tables(g.adj, g.x)
		g.sides(func(side string, b Arrivals, where string) {
			g.check(t, name+".frozen."+where, m.Frozen(g.onSide(side, tables), b))
		})
	}
	g.allUsed(t, ".frozen.")
}

func TestSection2FrozenIsAloneButForTriangles(t *testing.T) {
	g := readGoldenCase(t)
	node := g.batch("T", "node")
	alone := Alone(g.sgc(), g.adj, g.x, g.batch("T", "graph"))
	frozen := g.Matrix("sgc.frozen.T.node")
	exact, off := 0, 0
	for i := range alone {
		if !node.ClosesTriangle(g.adj, i) {
			near(t, fmt.Sprintf("arrival %d", i), Matrix{frozen[i]}, Matrix{alone[i]}, tight)
			exact++
		} else if math.Abs(frozen[i][0]-alone[i][0]) > tight {
			off++
		}
	}
	if exact < 3 || off == 0 {
		t.Errorf("%d arrivals close no triangle and %d with one differ: the case shows nothing", exact, off)
	}
}

func TestSection6Propagation(t *testing.T) {
	g := readGoldenCase(t)
	classes := len(g.sgc().B)
	labels := PropagationTables(g.adj, LabelSeeds(g.labels, classes), alpha)
	errors := func(logits Matrix) Tables {
		return PropagationTables(g.adj, ErrorSeeds(g.labels, logits), alpha)
	}
	sgcErrors, gcnErrors := errors(g.sgc().On(g.adj, g.x)), errors(g.gcn().On(g.adj, g.x))
	g.sides(func(side string, b Arrivals, where string) {
		adj, x, y := g.graph(side)
		g.check(t, "lp.joint."+where, JointPropagation(adj, LabelSeeds(y, classes), b, alpha))
		g.check(t, "lp.frozen."+where, FrozenPropagation(g.onSide(side, labels), b, alpha))
		nodes, _ := Joint(g.sgc(), adj, x, b)
		g.check(t, "sgc.ep.joint."+where, JointPropagation(adj, ErrorSeeds(y, nodes), b, alpha))
		g.check(t, "sgc.ep.frozen."+where, FrozenPropagation(g.onSide(side, sgcErrors), b, alpha))
		nodes, _ = Joint(g.gcn(), adj, x, b)
		g.check(t, "gcn.ep.joint."+where, JointPropagation(adj, ErrorSeeds(y, nodes), b, alpha))
		g.check(t, "gcn.ep.frozen."+where, FrozenPropagation(g.onSide(side, gcnErrors), b, alpha))
	})
	for _, prefix := range []string{"lp.", "sgc.ep.", "gcn.ep."} {
		if names := g.Unused(prefix); names != nil {
			t.Errorf("known answers not compared with: %v", names)
		}
	}
}
