package condense

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/infertest"
	"rivulet/infer/preprocess"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// lessMean returns a row minus its mean over classes, which is W̄'s effect.
func lessMean(m reference.Matrix) reference.Matrix {
	means := m.RowSums()
	return reference.At(len(m), m.Cols(), func(i, k int) float64 { return m[i][k] - means[i]/float64(m.Cols()) })
}

// Section 5, step 3: t = [u1 W̄, s0·u0 W̄, cs·c], s0 = RMS of 1/D_i and cs = RMS of ‖z_i‖/√D_i over the support
// edges; with W̄ in place of W, tables and z are less their mean over classes.
func TestSection5Messages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := stream(rapid.Uint64().Draw(t, "seed"))
		n, arrivals, d, c := rapid.IntRange(2, 10).Draw(t, "N"), rapid.IntRange(1, 8).Draw(t, "n"), 3,
			rapid.IntRange(2, 4).Draw(t, "C")
		adj, a, among := convert.Graph(rng, n, 0.4), convert.Normal(rng, arrivals, n, 0.4), convert.Graph(rng, arrivals, 0.3)
		for _, row := range a {
			for j, v := range row {
				if v != 0 {
					row[j] = 1
				}
			}
		}
		if !rapid.Bool().Draw(t, "graph batch") {
			among = reference.New(arrivals, arrivals)
		}
		x, support, w := convert.Normal(rng, n, d, 1), convert.Normal(rng, arrivals, d, 1), convert.Normal(rng, d, c, 1)

		batch := &attach.Batch{R: convert.Sparse(a, arrivals, n), X: convert.Features(support, false),
			Known: make([]int32, arrivals)}
		edges, hop, back := 0.0, 0.0, 0.0
		z := lessMean(support.Mul(w))
		for i := range a {
			known, inner := 0.0, 0.0
			for _, v := range a[i] {
				known += v
			}
			for _, v := range among[i] {
				inner += v
			}
			batch.Known[i] = int32(known)
			for range int(known) { // once for each support edge
				degree, norm := 1+known+inner, 0.0
				for _, v := range z[i] {
					norm += v * v
				}
				hop += 1 / (degree * degree)
				back += norm / degree
				edges++
			}
		}
		batch.Adj = convert.Pattern(among)
		s0, cs := 1.0, 1.0 // without support edges there is nothing to measure on
		if edges > 0 {
			s0, cs = math.Sqrt(hop/edges), math.Sqrt(back/edges)
		}

		tables := reference.HopTables(adj, lessMean(x.Mul(w)), 2)
		want := reference.At(n, 2*c+1, func(j, k int) float64 {
			switch {
			case k < c:
				return tables.U[1][j][k]
			case k < 2*c:
				return s0 * tables.U[0][j][k-c]
			}
			return cs * tables.C[j][0]
		})
		model := infertest.Model("sgc", 0, 2, architecture.Layer{Self: convert.Dense(w), Bias: make([]float32, c)})
		plain := Support{Batch: batch, Slots: []float32{1}, Pre: &preprocess.Parameters{Kind: preprocess.None, Scale: 1}}
		onT := model.Tables(convert.Pattern(adj), preprocess.Ready(convert.Dense(x)))
		parts := MessagesOf(model, onT, plain)
		got := parts.Of(onT)
		if g := convert.Gap(convert.Matrix(got), want); g > 1e-4 {
			t.Fatalf("messages are off by %g", g)
		}
	})
}

// t' are means weighted by w_j; nodes in no cluster do not count.
func TestSection5ClusterMeans(t *testing.T) {
	c := &Clusters{Of: []int32{0, 1, 0, -1}, Size: []int{2, 1}, Labels: []int32{0, 1}}
	rows := convert.Dense(reference.Matrix{{1, 2}, {5, 5}, {4, 8}, {100, 100}})
	got := ClusterMeans(rows, c, []float32{1, 0.1, 2, 7})
	if g := convert.Gap(convert.Matrix(got), reference.Matrix{{3, 6}, {5, 5}}); g > 1e-6 {
		t.Errorf("means %v", got.Data)
	}
}

// If every node is a cluster of its own, M is the identity: each node's messages are in the dictionary.
func TestSection5MappingOfSingletons(t *testing.T) {
	const n = 6
	messages := convert.Dense(convert.Normal(stream(2), n, 9, 1))
	c := &Clusters{Of: []int32{0, 1, 2, 3, 4, 5}, Size: []int{1, 1, 1, 1, 1, 1}, Labels: make([]int32, n)}
	d := Dictionary{Clusters: ClusterMeans(messages, c, []float32{1, 2, 3, 4, 5, 6}), nodes: messages}
	m := d.Solve(4)
	eye := reference.At(n, n, func(i, j int) float64 {
		if i == j {
			return 1
		}
		return 0
	})
	if g := convert.Gap(convert.FromCSR(m), eye); g > 1e-3 {
		t.Errorf("M is %v", convert.FromCSR(m))
	}
}
