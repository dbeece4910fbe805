package fit

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
	"rivulet/trainer/features"
)

// SIGN's hops have weights of their own: its design is [X W_0 | P X W_1 | P² X W_2] on the labelled rows, with the
// adjoint to that, and means over clusters are of the hops. The fit learns, and its model starts another one.
func TestHopsHaveWeightsOfTheirOwn(t *testing.T) {
	const n, d, classes, hidden = 60, 8, 3, 16
	rng := rand.New(rand.NewPCG(4, 0))
	adj, x := convert.Graph(rng, n, 0.1), convert.Normal(rng, n, d, 1)
	labels, training := make([]int32, n), make([]int32, n)
	for i := range n {
		labels[i] = int32(i % classes)
		x[i][labels[i]] += 4
		if training[i] = labels[i]; i%2 == 1 {
			training[i] = -1
		}
	}
	raw := &features.FactoredFeatures{Raw: graph.Features{Dense: convert.Dense(x)},
		Factor: slicesOf(d, 1), Offset: slicesOf(d, 0)}
	s := Shape{Model: "sign", Layers: 2, Hidden: hidden, Hops: 2}
	p := OnOriginal(s, convert.Pattern(adj), raw, training, classes)
	op := operator(modelCheby, adj) // D^-½ B D^-½
	hops := []reference.Matrix{x, op.Mul(x), op.Mul(op.Mul(x))}
	w := convert.Normal(rng, d, 3*hidden, 1)
	forward := func(row func(of reference.Matrix) reference.Matrix) (out reference.Matrix) {
		for k, of := range hops {
			part := row(of).Mul(w.Columns(k*hidden, (k+1)*hidden))
			if out == nil {
				out = part
				continue
			}
			for i := range out {
				out[i] = append(out[i], part[i]...)
			}
		}
		return out
	}
	even := func(of reference.Matrix) (out reference.Matrix) {
		for i := 0; i < n; i += 2 {
			out = append(out, of[i])
		}
		return out
	}
	rows := forward(even)
	if gap := convert.Gap(convert.Matrix(p.Self.Forward(convert.Dense(w))), rows); gap > 1e-4 {
		t.Errorf("F W is off by %g", gap)
	}
	g := convert.Normal(rng, n/2, 3*hidden, 1) // ⟨G, F W⟩ = ⟨Fᵀ G, W⟩
	left, right := 0.0, 0.0
	for i := range g {
		for k, v := range g[i] {
			left += v * rows[i][k]
		}
	}
	adjoint := convert.Matrix(p.Self.Adjoint(convert.Dense(g)))
	for i := range w {
		for k, v := range w[i] {
			right += v * adjoint[i][k]
		}
	}
	if diff := left - right; diff > 1e-2 || diff < -1e-2 {
		t.Errorf("⟨G, F W⟩ is %g, ⟨Fᵀ G, W⟩ %g", left, right)
	}
	means := reference.At(2, n, func(c, i int) float64 {
		if i%2 == c {
			return 2.0 / n
		}
		return 0
	})
	onS := OnSynthetic(s, convert.Pattern(adj), raw, convert.Sparse(means, 2, n), nil, []int32{0, 1}, nil, classes)
	if gap := convert.Gap(convert.Matrix(onS.Self.Forward(convert.Dense(w))), forward(means.Mul)); gap > 1e-4 {
		t.Errorf("means of F W are off by %g", gap)
	}

	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	accuracy := func(m infer.Model) (float64, error) {
		nobody := attach.WithoutEdges(graph.Features{Dense: graph.NewDense(0, d)}, n)
		joint := m.Joint(convert.Pattern(adj), preprocess.Ready(convert.Dense(x)), plain)
		logits := joint.(infer.NodeLogits).GraphLogits(nobody)
		hits := 0
		for i := 1; i < n; i += 2 {
			if int32(infer.ArgMax(logits.Row(i))) == labels[i] {
				hits++
			}
		}
		return 100 * float64(hits) / (n / 2), nil
	}
	o := DefaultGNNOptions(1e-3, 1)
	m, trace, err := GNN(t.Context(), p, o, accuracy)
	if err != nil || m.Hops != 2 || trace.Best.Accuracy < 85 {
		t.Fatalf("%v: %+v, best %+v", err, m, trace.Best)
	}
	again := newNetwork(&p, m.Architecture, rng)
	again.begin(m)
	if diff := cmp.Diff(m.Params(), again.model(true).Params()); diff != "" {
		t.Errorf("a fit that starts from a model has other weights: %s", diff)
	}
}

func slicesOf(n int, v float32) []float32 {
	out := make([]float32, n)
	for k := range out {
		out[k] = v
	}
	return out
}
