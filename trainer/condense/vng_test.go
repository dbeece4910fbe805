package condense

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/infertest"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

func mustVNG(t expect.T, in Input, seed uint64) *VNG {
	v, err := NewVNG(in, stream(seed))
	expect.OK(t, err)
	return v
}

// naiveMapping is section 7's M_j = 1/√D_j on j's cluster.
func naiveMapping(adj reference.Matrix, of []int32, n int) reference.Matrix {
	degree := adj.RowSums()
	return reference.At(len(adj), n, func(j, k int) float64 {
		return indicator(of[j] == int32(k)) / math.Sqrt(degree[j]+1)
	})
}

// meetingWeights are section 7's w_j = deg_j/√D_j; of nodes without neighbours what stands in for 0.
func meetingWeights(adj reference.Matrix) []float64 {
	out := adj.RowSums()
	for j, deg := range out {
		out[j] = max(loneWeight, deg/math.Sqrt(deg+1))
	}
	return out
}

// Section 7: X' are weighted cluster means, M_j = 1/√D_j, and the clusters are all of T, labelled or not.
func TestSection7VNGParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, w, x := drawInput(t)
		v := mustVNG(t, in, w.seed)
		n := 0
		for _, k := range w.share {
			n += k
		}
		c := v.Clusters
		if len(c.Labels) != n || slices.Contains(c.Of, -1) || slices.Contains(c.Size, 0) || !slices.IsSorted(v.Labels) {
			t.Fatalf("clusters %+v, want %d, none empty, no node in none, Y' ascending", c, n)
		}
		for _, k := range []struct {
			what      string
			got, want reference.Matrix
		}{
			{"M", convert.FromCSR(v.M), naiveMapping(w.adj, c.Of, n)},
			{"X'", convert.Matrix(v.X), naiveMeans(x, meetingWeights(w.adj), c.Of, n)},
		} {
			if g := convert.Gap(k.got, k.want); g > 1e-5 {
				t.Fatalf("%s is off by %g", k.what, g)
			}
		}
		if v.Attachment != artifact.AttachFrozen {
			t.Fatalf("attachment %q", v.Attachment)
		}
		adj := convert.FromCSR(v.Adj)
		for a := range adj {
			for b := range adj {
				if adj[a][b] != adj[b][a] || adj[a][b] < 0 || (a == b && adj[a][b] != 0) {
					t.Fatalf("A' is not fit for an artifact: %v", adj)
				}
			}
		}
	})
}

// Q solves its normal equations, Q (B Bᵀ + ridge) = [H1',H2'] Bᵀ with B = [X',H1'], the blocks side by side.
func TestSection7VNGOperator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, w, x := drawInput(t)
		v := mustVNG(t, in, w.seed)
		n := len(v.Labels)
		hat, weights := reference.AHat(w.adj), meetingWeights(w.adj)
		h0, h1 := naiveMeans(x, weights, v.Clusters.Of, n), naiveMeans(hat.Mul(x), weights, v.Clusters.Of, n)
		h2 := naiveMeans(hat.Mul(hat.Mul(x)), weights, v.Clusters.Of, n)
		beside := func(a, b reference.Matrix) reference.Matrix {
			return reference.At(n, 2*x.Cols(), func(i, k int) float64 {
				if k < x.Cols() {
					return a[i][k]
				}
				return b[i][k-x.Cols()]
			})
		}
		from, to := beside(h0, h1), beside(h1, h2)
		normal, trace := from.Mul(from.T()), 0.0
		for i := range normal {
			trace += normal[i][i]
		}
		for i := range normal {
			normal[i][i] += vngRidge * trace / float64(n)
		}
		if g := convert.Gap(convert.Matrix(v.Q).Mul(normal), to.Mul(from.T())); g > 1e-3 {
			t.Fatalf("Q misses its normal equations by %g", g)
		}
	})
}

// Section 7's arrival, word for word: z ← q(r·Z + q z + ã(q z)), Z ← Q Z, twice, from Z = X'W. It is frozen SGC on the
// tables.
func TestSection7VNGArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, w, _ := drawInput(t)
		v := mustVNG(t, in, w.seed)
		rng := stream(w.seed + 2)
		arrivals, d, classes := rapid.IntRange(1, 6).Draw(t, "n"), 4, len(w.share)
		weight, bias := convert.Normal(rng, d, classes, 1), convert.Normal(rng, 1, classes, 1)
		x, among := convert.Normal(rng, arrivals, d, 1), convert.Graph(rng, arrivals, 0.4)
		a := reference.At(arrivals, len(w.labels), func(_, _ int) float64 { return indicator(rng.Float64() < 0.3) })

		degrees, inner := a.RowSums(), among.RowSums()
		r := a.Mul(naiveMapping(w.adj, v.Clusters.Of, len(v.Labels)))
		z, synthetic := x.Mul(weight), convert.Matrix(v.X).Mul(weight)
		for range 2 {
			q := func(i int) float64 { return 1 / math.Sqrt(1+degrees[i]+inner[i]) }
			scaled := reference.At(arrivals, classes, func(i, k int) float64 { return q(i) * z[i][k] })
			read, met := r.Mul(synthetic), among.Mul(scaled)
			z = reference.At(arrivals, classes, func(i, k int) float64 { return q(i) * (read[i][k] + scaled[i][k] + met[i][k]) })
			synthetic = convert.Matrix(v.Q).Mul(synthetic)
		}
		want := reference.At(arrivals, classes, func(i, k int) float64 { return z[i][k] + bias[0][k] })

		model := infertest.Model("sgc", 0, 2, architecture.Layer{Self: convert.Dense(weight), Bias: convert.Dense(bias).Data})
		batch := &attach.Batch{X: convert.Features(x, false), R: convert.Sparse(r, arrivals, len(v.Labels)),
			Known: make([]int32, arrivals), Adj: convert.Pattern(among)}
		for i := range batch.Known {
			batch.Known[i] = int32(degrees[i])
		}
		got := model.Frozen(v.Tables(model), &preprocess.Parameters{Kind: preprocess.None, Scale: 1}).Logits(batch)
		if g := convert.Gap(convert.Matrix(got), want); g > 1e-4 {
			t.Fatalf("logits are off by %g", g)
		}
	})
}

// If every node is a virtual node of its own and features tell the nodes apart, Q is Â: nothing is lost.
func TestSection7VNGOfSingletonsIsTheGraph(t *testing.T) {
	const n = 6
	rng := stream(31)
	adj, x := convert.Graph(rng, n, 0.6), convert.Normal(rng, n, 40, 1)
	w := &world{adj: adj, points: convert.Dense(x), labels: make([]int32, n), share: []int{n}}
	v := mustVNG(t, w.input(x), 1)
	if g := convert.Gap(convert.Matrix(v.Q), reference.AHat(adj)); g > 1e-3 {
		t.Errorf("Q differs from Â by %g", g)
	}
}

// Y': the majority of the labelled nodes, of equals the first; a cluster without any has that of the nearest that has
// some.
func TestSection7VNGLabels(t *testing.T) {
	centres := &graph.Dense{Rows: 4, Cols: 1, Data: []float32{0, 10, 7, 100}}
	of := []int32{0, 0, 0, 1, 1, 2, 2, 3}
	labels := []int32{2, 1, 2, 1, 0, -1, -1, 1}
	if got, want := majorities(of, centres, labels, 3), []int32{2, 0, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("Y' is %v, want %v", got, want)
	}
}
