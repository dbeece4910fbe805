package infer_test

import (
	"fmt"
	"math"
	"testing"

	"rivulet/test/reference"
)

const (
	goldenFile  = "testdata/attachment.npz"
	oracleTight = 1e-10 // the known answers are float64
	alpha       = 0.9   // of the known answers of propagation
)

// oracleCase is the small graph of the known answers.
type oracleCase struct {
	*reference.Goldens
	adj, x, synAdj, synX, mapping reference.Matrix
	labels, synLabels             []int
}

func readOracleCase(t *testing.T) *oracleCase {
	t.Helper()
	g, err := reference.ReadGoldens(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	return &oracleCase{Goldens: g, adj: g.Matrix("A"), x: g.Matrix("X"), synAdj: g.Matrix("A_syn"),
		synX:    g.Matrix("X_syn"),
		mapping: g.Matrix("M"), labels: g.Ints("Y"), synLabels: g.Ints("Y_syn")}
}

// batch returns the arrivals on "T" or "S", in a "graph" or "node" batch.
func (g *oracleCase) batch(side, kind string) reference.Arrivals {
	a, among, x := g.Matrix("a"), g.Matrix("a_tilde"), g.Matrix("x")
	if kind == "node" {
		among = reference.New(len(a), len(a))
	}
	if side == "S" {
		return reference.OnS(a, g.mapping, among, x)
	}
	return reference.OnT(a, among, x)
}

// graph returns the graph of a side with its features and labels.
func (g *oracleCase) graph(side string) (adj, x reference.Matrix, labels []int) {
	if side == "S" {
		return g.synAdj, g.synX, g.synLabels
	}
	return g.adj, g.x, g.labels
}

func (g *oracleCase) sgc() reference.SGC {
	return reference.SGC{W: g.Matrix("sgc.weights.W"), B: g.Vector("sgc.weights.b")}
}

func (g *oracleCase) gcn() Convolution {
	return GCN(Layer{Wn: g.Matrix("gcn.weights.W1"), B: g.Vector("gcn.weights.b1")},
		Layer{Wn: g.Matrix("gcn.weights.W2"), B: g.Vector("gcn.weights.b2")})
}

// models are all the models of the known answers, with their weights.
func (g *oracleCase) models() map[string]Model {
	of := func(model string) (m func(string) reference.Matrix, v func(string) []float64) {
		return func(name string) reference.Matrix { return g.Matrix(model + ".weights." + name) },
			func(name string) []float64 { return g.Vector(model + ".weights." + name) }
	}
	sage, sageBias := of("sage")
	appnp, appnpBias := of("appnp")
	cheby, chebyBias := of("cheby")
	return map[string]Model{
		"sgc": g.sgc(), "gcn": g.gcn(),
		"sage":  SAGE(Layer{sage("Wn1"), sage("Ws1"), sageBias("b1")}, Layer{sage("Wn2"), sage("Ws2"), sageBias("b2")}),
		"appnp": APPNP{appnp("W1"), appnpBias("b1"), appnp("W2"), appnpBias("b2"), 0.1, 10},
		"cheby": Cheby{[]reference.Matrix{cheby("W0_1"), cheby("W1_1")}, chebyBias("b1"),
			[]reference.Matrix{cheby("W0_2"), cheby("W1_2")}, chebyBias("b2")},
	}
}

// sides runs f for every graph and kind of batch; where is the middle and end of a known answer's name, "T.graph".
func (g *oracleCase) sides(f func(side string, b reference.Arrivals, where string)) {
	for _, side := range []string{"T", "S"} {
		for _, kind := range []string{"graph", "node"} {
			f(side, g.batch(side, kind), side+"."+kind)
		}
	}
}

// onSide picks T's tables, or makes those of S from them.
func (g *oracleCase) onSide(side string, t reference.Tables) reference.Tables {
	if side == "S" {
		return reference.RidgeTables(g.adj, g.mapping, t)
	}
	return t
}

func (g *oracleCase) check(t *testing.T, name string, got reference.Matrix) {
	t.Helper()
	nearly(t, name, got, g.Matrix(name), oracleTight)
}

// allUsed fails where a known answer whose name begins with MODEL.part. was not compared with.
func (g *oracleCase) allUsed(t *testing.T, part string) {
	t.Helper()
	for name := range g.models() {
		if names := g.Unused(name + part); names != nil {
			t.Errorf("known answers not compared with: %v", names)
		}
	}
}

func TestOracleSection2Tables(t *testing.T) {
	g := readOracleCase(t)
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

func TestOracleEq11Joint(t *testing.T) {
	g := readOracleCase(t)
	g.sides(func(side string, b reference.Arrivals, where string) {
		adj, x, _ := g.graph(side)
		for name, m := range g.models() {
			_, got := Joint(m, adj, x, b)
			g.check(t, name+".joint."+where, got)
		}
	})
	g.allUsed(t, ".joint.")
}

func TestOracleEq11Alone(t *testing.T) {
	g := readOracleCase(t)
	for name, m := range g.models() {
		g.check(t, name+".alone.T", Alone(m, g.adj, g.x, g.batch("T", "graph")))
	}
	g.allUsed(t, ".alone.")
}

func TestOracleSection2Frozen(t *testing.T) {
	g := readOracleCase(t)
	for name, m := range g.models() {
		tables := m.Tables(g.adj, g.x)
		g.sides(func(side string, b reference.Arrivals, where string) {
			g.check(t, name+".frozen."+where, m.Frozen(g.onSide(side, tables), b))
		})
	}
	g.allUsed(t, ".frozen.")
}

func TestOracleSection2FrozenIsAloneButForTriangles(t *testing.T) {
	g := readOracleCase(t)
	node := g.batch("T", "node")
	alone := Alone(g.sgc(), g.adj, g.x, g.batch("T", "graph"))
	frozen := g.Matrix("sgc.frozen.T.node")
	exact, off := 0, 0
	for i := range alone {
		if !closesTriangle(node, g.adj, i) {
			nearly(t, fmt.Sprintf("arrival %d", i), reference.Matrix{frozen[i]}, reference.Matrix{alone[i]}, oracleTight)
			exact++
		} else if math.Abs(frozen[i][0]-alone[i][0]) > oracleTight {
			off++
		}
	}
	if exact < 3 || off == 0 {
		t.Errorf("%d arrivals close no triangle and %d with one differ: the case shows nothing", exact, off)
	}
}

func TestOracleSection6Propagation(t *testing.T) {
	g := readOracleCase(t)
	classes := len(g.sgc().B)
	labels := PropagationTables(g.adj, LabelSeeds(g.labels, classes), alpha)
	errors := func(logits reference.Matrix) reference.Tables {
		return PropagationTables(g.adj, ErrorSeeds(g.labels, logits), alpha)
	}
	sgcErrors, gcnErrors := errors(g.sgc().On(g.adj, g.x)), errors(g.gcn().On(g.adj, g.x))
	g.sides(func(side string, b reference.Arrivals, where string) {
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

func nearly(t *testing.T, what string, got, want reference.Matrix, tol float64) {
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
