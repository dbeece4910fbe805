package condense

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
	"rivulet/trainer/features"
)

// scales are in and out of a node of degree deg in the graph as it is (met 0) or with one neighbour more (met 1), as
// artifact.OperatorMeans has them; loops: the node is its own neighbour.
func scales(model string, deg, met float64) (in, out float64, loops bool) {
	over := func(d, power float64) float64 {
		if d == 0 {
			return 0
		}
		return math.Pow(d, -power)
	}
	switch model {
	case "gcn":
		return over(deg+met+1, 0.5), over(deg+met+1, 0.5), true
	case "sage":
		return 1, over(deg+met, 1), false
	}
	return over(deg+met, 0.5), over(deg+met, 0.5), false
}

// meansOf are the cluster means of an artifact, in float64 from their definition: of is the cluster of each node.
func meansOf(adj, x reference.Matrix, of []int32, n int, weights []float32) *artifact.Means {
	average := func(value func(j, k int) float64, width int) *graph.Dense {
		sum, total := reference.New(n, width), make([]float64, n)
		for j, c := range of {
			if c >= 0 {
				total[c] += float64(weights[j])
				for k := range width {
					sum[c][k] += float64(weights[j]) * value(j, k)
				}
			}
		}
		return convert.Dense(reference.At(n, width, func(c, k int) float64 { return sum[c][k] / total[c] }))
	}
	degree := make([]float64, len(adj))
	for i, row := range adj {
		for _, v := range row {
			degree[i] += v
		}
	}
	d := x.Cols()
	out := &artifact.Means{X: average(func(j, k int) float64 { return x[j][k] }, d),
		Operators: map[string]artifact.OperatorMeans{}}
	for _, model := range []string{"gcn", "sage", "cheby"} {
		met := func(j int) (in, out float64) { in, out, _ = scales(model, degree[j], 1); return in, out }
		sent := reference.At(len(adj), d, func(j, k int) float64 {
			in, _, _ := scales(model, degree[j], 0)
			return in * x[j][k]
		})
		received := adj.Mul(sent)
		out.Operators[model] = artifact.OperatorMeans{
			PX: average(func(j, k int) float64 {
				in, out := met(j)
				if _, _, loops := scales(model, 0, 1); loops {
					return out * (received[j][k] + in*x[j][k])
				}
				return out * received[j][k]
			}, d),
			Scaled: average(func(j, k int) float64 { in, _ := met(j); return in * x[j][k] }, d),
			Scale:  average(func(j, _ int) float64 { in, _ := met(j); return in }, 1).Data,
			Back:   average(func(j, _ int) float64 { in, out := met(j); return in * out }, 1).Data,
		}
	}
	return out
}

// Cluster means against their definition, with sparse and dense features, nodes without edges and nodes in no cluster.
func TestSection5MeansForLaterModels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n, d, k := rapid.IntRange(3, 14).Draw(t, "N"), rapid.IntRange(1, 6).Draw(t, "d"), 3
		adj, x := convert.Graph(rng, n, rapid.Float64Range(0, 0.5).Draw(t, "density")), convert.Normal(rng, n, d, 0.6)
		c, w := &Clusters{Of: make([]int32, n), Labels: make([]int32, k)}, make([]float32, n)
		for j := range n {
			w[j] = 0.1 + rng.Float32()
			if c.Of[j] = int32(rng.IntN(k+1) - 1); j < k {
				c.Of[j] = int32(j)
			}
		}
		c.count()
		pre := &preprocess.Parameters{Kind: preprocess.L2Center, Mean: convert.Dense(convert.Normal(rng, 1, d, 1)).Data,
			Scale: 2}
		raw := convert.Features(x, rapid.Bool().Draw(t, "sparse"))
		want := meansOf(adj, convert.Matrix(pre.Raw(raw).Matrix()), c.Of, k, w)
		got := Means(convert.Pattern(adj), features.Factor(raw, pre), c, w)
		near := func(what string, got, want *graph.Dense) {
			if gap := convert.Gap(convert.Matrix(got), convert.Matrix(want)); gap > 1e-5 {
				t.Fatalf("%s is off by %g", what, gap)
			}
		}
		column := func(v []float32) *graph.Dense { return &graph.Dense{Rows: len(v), Cols: 1, Data: v} }
		near("X", got.X, want.X)
		if len(got.Operators) != len(want.Operators) {
			t.Fatalf("means of %d operators, want %d", len(got.Operators), len(want.Operators))
		}
		for name, of := range want.Operators {
			near(name+" PX", got.Operators[name].PX, of.PX)
			near(name+" scaled", got.Operators[name].Scaled, of.Scaled)
			near(name+" scale", column(got.Operators[name].Scale), column(of.Scale))
			near(name+" back", column(got.Operators[name].Back), column(of.Back))
		}
	})
}
