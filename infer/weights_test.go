package infer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/infertest"
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// weights are those of the edges in these tests; each is a bin of its own, so that tables are made for it exactly.
var weights = graph.Slots{Weighted: true, Upper: []float32{0.25, 1.5, 6}, Edges: []float32{0.25, 1.5, 6}}

// weigh gives the edges of a 0/1 matrix weights; of a symmetric one the same in both directions.
func weigh(rng *rand.Rand, m reference.Matrix, symmetric bool) {
	for i, row := range m {
		for j := range row {
			if row[j] == 0 || symmetric && j < i {
				continue
			}
			row[j] = float64(weights.Edges[rng.IntN(3)])
			if symmetric {
				m[j][i] = row[j]
			}
		}
	}
}

// A batch with weights that is joined to T or S gets the oracle's logits, of all models: degrees are sums of weights.
func TestWeightsJoinedAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "weights"), 0))
		weigh(rng, w.adj, true)
		weigh(rng, w.a, false)
		weigh(rng, w.among, true)
		for _, graphBatch := range []bool{false, true} {
			b := w.batch("T", graphBatch)
			b.Count()
			through := *b
			through.AttachThrough(b.R, convert.Sparse(w.mapping, len(w.adj), w.mapping.Cols()), &graph.Slots{Weighted: true})
			for side, b := range map[string]*attach.Batch{"T": b, "S": &through} {
				adj, x, oracleAdj, oracleX, _ := w.graph(side)
				for _, c := range w.candidates {
					_, want := Joint(c.oracle, oracleAdj, oracleX, w.oracle(side, graphBatch))
					near(t, c.name+" on "+side, c.own.Joint(adj, x, w.preprocess()).Logits(b), want, 30*w.tolerance(c, oracleX))
				}
			}
		}
	})
}

// triangleFree are T without edges inside of two halves, and arrivals with edges to one half, all with weights: no two
// neighbours of an arrival are adjacent, and frozen attachment need not be an approximation.
func triangleFree(rng *rand.Rand, n, arrivals int) (adj, a reference.Matrix) {
	adj, a = reference.New(n, n), reference.New(arrivals, n)
	for i := range n / 2 {
		for j := n / 2; j < n; j++ {
			if rng.IntN(3) == 0 {
				adj[i][j], adj[j][i] = 1, 1
			}
		}
	}
	for _, row := range a {
		for j := range n / 2 {
			row[j] = float64(rng.IntN(2))
		}
	}
	weigh(rng, adj, true)
	weigh(rng, a, false)
	return adj, a
}

// weightedCases are models whose frozen form is exact where relus let everything through, with their oracles.
func weightedCases(rng *rand.Rand, d, c int) map[string]struct {
	own    infer.Model
	oracle Model
} {
	positive := func(r, c int) reference.Matrix {
		return reference.At(r, c, func(int, int) float64 { return rng.Float64() })
	}
	bias := func(n int) []float64 {
		return reference.Each(make([]float64, n), func(float64) float64 { return rng.Float64() })
	}
	layer := func(in, out int) (architecture.Layer, Layer) {
		l := Layer{Wn: positive(in, out), B: bias(out)}
		return architecture.Layer{Neighbours: dense(l.Wn), Bias: floats(l.B)}, l
	}
	w, b := positive(d, c), bias(c)
	linear := architecture.Layer{Self: dense(w), Bias: floats(b)}
	own1, oracle1 := layer(d, 5)
	own2, oracle2 := layer(5, c)
	withSelf := func(own architecture.Layer, l Layer) (architecture.Layer, Layer) {
		l.Ws = positive(len(l.Wn), l.Wn.Cols())
		own.Self = dense(l.Ws)
		return own, l
	}
	sage1, sageOracle1 := withSelf(own1, oracle1)
	sage2, sageOracle2 := withSelf(own2, oracle2)
	return map[string]struct {
		own    infer.Model
		oracle Model
	}{
		"sgc":  {infertest.Model("sgc", 0, 2, linear), reference.SGC{W: w, B: b}},
		"gcn":  {infertest.Model("gcn", 0, 0, own1, own2), GCN(oracle1, oracle2)},
		"sage": {infertest.Model("sage", 0, 0, sage1, sage2), SAGE(sageOracle1, sageOracle2)},
	}
}

// Frozen on T by the tables of bins, an arrival with weights gets the logits that it would get if it were truly joined
// to T, alone. So does one that attaches through an M whose rows are T's nodes themselves.
func TestWeightsFrozenAreAnArrivalTrulyJoined(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n, d, c := 12, 4, 3
		adj, a := triangleFree(rng, n, 6)
		x, own := convert.Normal(rng, n, d, 1), convert.Normal(rng, 6, d, 1)
		for _, m := range []reference.Matrix{x, own} {
			for _, row := range m {
				for k := range row {
					row[k] = max(row[k], -row[k])
				}
			}
		}
		pre := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
		b := &attach.Batch{X: graph.Features{Dense: dense(own)}, R: sparse(a, 6, n)}
		b.Count()
		onT, identity := *b, &graph.CSR{Rows: n, Cols: n, RowPtr: []int{0}}
		onT.R = weights.Read(b.R)
		for j := range int32(n) {
			identity.ColIdx, identity.Val = append(identity.ColIdx, j), append(identity.Val, 1)
			identity.RowPtr = append(identity.RowPtr, int(j)+1)
		}
		through := *b
		through.AttachThrough(b.R, identity, &weights)
		for name, of := range weightedCases(rng, d, c) {
			frozen := of.own.Frozen(of.own.Tables(sparse(adj, n, n), preprocess.Ready(dense(x)), weights.Edges...), pre)
			want := Alone(of.oracle, adj, x, reference.OnT(a, reference.New(6, 6), own))
			near(t, name, frozen.Logits(&onT), want, 1e-4)
			near(t, name+" through M", frozen.Logits(&through), want, 1e-4)
		}
	}
}

// An arrival's own tables for a later edge of a weight are those of T with the arrival in it.
func TestWeightsArrivedAreTheGrownGraph(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n, d := 10, 3
		adj, a := triangleFree(rng, n, 1)
		x, own := convert.Normal(rng, n, d, 1), convert.Normal(rng, 1, d, 1)
		w := convert.Normal(rng, d, 2, 1)
		m := infertest.Model("sgc", 0, 2, architecture.Layer{Self: dense(w), Bias: make([]float32, 2)})
		b := &attach.Batch{X: graph.Features{Dense: dense(own)}, R: sparse(a, 1, n)}
		b.Count()
		b.R = weights.Read(b.R)
		pre := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
		frozen := m.Frozen(m.Tables(sparse(adj, n, n), preprocess.Ready(dense(x)), weights.Edges...), pre)
		got := infer.ArrivedTables(frozen.(infer.Growable), b, weights.Edges)
		grown, features := withArrival(reference.OnT(a, reference.New(1, 1), own), adj, x, 0)
		want := m.Tables(sparse(grown, n+1, n+1), preprocess.Ready(dense(features)), weights.Edges...)
		for k, edge := range weights.Edges {
			at := (k+1)*(n+1) - 1 // the arrival is the last node
			for hop, u := range got.U {
				near(t, fmt.Sprintf("u%d for an edge of %v", hop, edge), u.Take([]int32{int32(k)}),
					convert.Matrix(want.U[hop].Take([]int32{int32(at)})), 1e-4)
			}
			near(t, fmt.Sprintf("c for an edge of %v", edge), got.C.Take([]int32{int32(k)}),
				convert.Matrix(want.C.Take([]int32{int32(at)})), 1e-6)
		}
	}
}

// Tables for edges of weight 1 are the tables of an unweighted graph, bit for bit.
func TestWeightOneIsNoWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		adj, x, _, _, _ := w.graph("T")
		for _, c := range w.candidates {
			if infer.Freezable(c.own) != nil {
				continue
			}
			want, got := c.own.Tables(adj, x), c.own.Tables(adj, x, 1)
			for hop := range want.U {
				sameBits(t, c.name, got.U[hop].Data, want.U[hop].Data)
			}
			sameBits(t, c.name, got.C.Data, want.C.Data)
		}
	})
}

// Bins have about equal shares of the weight, their edges are weight-weighted means, and each weight is in one.
func TestBins(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	adj := &graph.CSR{Rows: 1, Cols: 4000, RowPtr: []int{0, 4000}, ColIdx: make([]int32, 4000)}
	for range 4000 {
		adj.Val = append(adj.Val, float32(rng.ExpFloat64()+0.01))
	}
	if none := graph.WeightSlots(&graph.CSR{Val: []float32{}}, 4); !none.Plain() {
		t.Errorf("bins of no edges: %v", none)
	}
	b := graph.WeightSlots(adj, 4)
	if err := b.Validate(); err != nil {
		t.Error(err)
	}
	if b.Len() != 4 || !slices.IsSorted(b.Upper) || b.Upper[3] != slices.Max(adj.Val) {
		t.Fatal(b)
	}
	for k, share := range b.Shares(b.Read(adj)) {
		if share < 0.24 || share > 0.26 {
			t.Errorf("bin %d has %v of the weight", k, share)
		}
		var sum, squares float64
		for _, w := range adj.Val {
			if b.Of(w) == k {
				sum, squares = sum+float64(w), squares+float64(w)*float64(w)
			}
		}
		if want := squares / sum; want < 0.9999*float64(b.Edges[k]) || want > 1.0001*float64(b.Edges[k]) {
			t.Errorf("bin %d is for %v, want %v", k, b.Edges[k], want)
		}
	}
	if above := 2 * b.Upper[3]; b.Of(above) != 3 || !b.Beyond(above) || b.Beyond(b.Upper[3]) {
		t.Error("a weight above all others is not in the last bin")
	}
	// Two weights make two bins, and 1 alone none.
	adj.Val = []float32{2, 1, 1, 2}
	if two := graph.WeightSlots(adj, 4); !slices.Equal(two.Upper, []float32{1, 2}) ||
		!slices.Equal(two.Edges, []float32{1, 2}) {
		t.Error(two)
	}
	if adj.Val = nil; len(graph.WeightSlots(adj, 4).Upper) > 0 {
		t.Error("bins of edges without weights")
	}
}

// The exponent of own features goes by the number of neighbours: an arrival with one light or one heavy edge has few.
func TestWeightsAreNoNeighbours(t *testing.T) {
	b := &attach.Batch{Known: []int32{0, 1, 1, 9}, Weights: []float32{0, 0.01, 400, 0.5}}
	of := perceptron.Exponents{None: 2, Few: 0.5, Many: 1}
	for i, want := range []float32{2, 0.5, 0.5, 1} {
		if got := of.At(b.Neighbours(i)); got != want {
			t.Errorf("%d edges that weigh %v: exponent %v, want %v", b.Known[i], b.Weights[i], got, want)
		}
	}
}
