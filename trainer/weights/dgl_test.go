package weights

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// tensorOf is a tensor of small numbers that differ.
func tensorOf(seed int, shape ...int) safetensors.Array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	a := safetensors.Array{Type: "F32", Shape: shape, Values: make([]float32, n)}
	for k := range a.Values {
		a.Values[k] = float32(math.Sin(float64(7*k+13*seed))) / 2
	}
	return a
}

// at is row i, column j of a matrix.
func at(a safetensors.Array, i, j int) float64 { return float64(a.Values[i*a.Shape[1]+j]) }

// Weights of DGL's layers give the logits of DGL's equations in float64: GraphConv with the norm both and loops,
// SAGEConv with the mean, SGConv of two hops, APPNPConv behind two Linear layers.
func TestModelsOfDGL(t *testing.T) {
	const n, d, h, c = 7, 6, 5, 3
	adj := graph.Symmetric(n, [][2]int32{{0, 1}, {0, 2}, {1, 2}, {2, 3}, {4, 5}})
	x := tensorOf(9, n, d)
	neighbours := func(i int) []int32 { cols, _ := adj.Row(i); return cols }
	// Σ_j of i and its neighbours, D_i^-½ D_j^-½ m_j
	both := func(m [][]float64) [][]float64 {
		return table(n, len(m[0]), func(i, k int) float64 {
			sum, di := 0.0, float64(len(neighbours(i))+1)
			for _, j := range append([]int32{int32(i)}, neighbours(i)...) {
				sum += m[j][k] / math.Sqrt(di*float64(len(neighbours(int(j)))+1))
			}
			return sum
		})
	}
	features := table(n, d, func(i, k int) float64 { return at(x, i, k) })
	relu := func(m [][]float64) [][]float64 {
		return table(len(m), len(m[0]), func(i, k int) float64 { return max(0, m[i][k]) })
	}
	// m W + b of W as [in, out], or as [out, in] with turned
	linear := func(m [][]float64, w safetensors.Array, b *safetensors.Array, turned bool) [][]float64 {
		width := w.Shape[1]
		if turned {
			width = w.Shape[0]
		}
		return table(len(m), width, func(i, k int) float64 {
			sum := 0.0
			for j, v := range m[i] {
				if turned {
					sum += v * at(w, k, j)
				} else {
					sum += v * at(w, j, k)
				}
			}
			if b != nil {
				sum += float64(b.Values[k])
			}
			return sum
		})
	}
	mean := func(m [][]float64) [][]float64 {
		return table(n, len(m[0]), func(i, k int) float64 {
			sum := 0.0
			for _, j := range neighbours(i) {
				sum += m[j][k]
			}
			return sum / float64(max(1, len(neighbours(i))))
		})
	}
	plus := func(a, b [][]float64) [][]float64 {
		return table(len(a), len(a[0]), func(i, k int) float64 { return a[i][k] + b[i][k] })
	}
	gcn := State{"layers.0.weight": tensorOf(1, d, h), "layers.0.bias": tensorOf(2, h), "layers.1.weight": tensorOf(3, h, c),
		"layers.1.bias": tensorOf(4, c)}
	sage := State{"conv1.fc_neigh.weight": tensorOf(1, h, d), "conv1.fc_self.weight": tensorOf(2, h, d),
		"conv1.fc_self.bias": tensorOf(3, h), "conv2.fc_neigh.weight": tensorOf(4, c, h),
		"conv2.fc_self.weight": tensorOf(5, c, h), "conv2.bias": tensorOf(6, c)} // conv2 as before version 1
	sgc := State{"fc.weight": tensorOf(1, c, d), "fc.bias": tensorOf(2, c)}
	appnp := State{"layers.0.weight": tensorOf(1, h, d), "layers.0.bias": tensorOf(2, h), "layers.1.weight": tensorOf(3, c, h),
		"layers.1.bias": tensorOf(4, c)}
	bias := func(s State, name string) *safetensors.Array { b := s[name]; return &b }
	answers := map[string][][]float64{}
	hidden := relu(linear(both(features), gcn["layers.0.weight"], bias(gcn, "layers.0.bias"), false))
	answers["gcn"] = linear(both(hidden), gcn["layers.1.weight"], bias(gcn, "layers.1.bias"), false)
	hidden = relu(plus(linear(mean(features), sage["conv1.fc_neigh.weight"], nil, true),
		linear(features, sage["conv1.fc_self.weight"], bias(sage, "conv1.fc_self.bias"), true)))
	answers["sage"] = plus(linear(mean(hidden), sage["conv2.fc_neigh.weight"], nil, true),
		linear(hidden, sage["conv2.fc_self.weight"], bias(sage, "conv2.bias"), true))
	answers["sgc"] = linear(both(both(features)), sgc["fc.weight"], bias(sgc, "fc.bias"), true)
	h0 := linear(relu(linear(features, appnp["layers.0.weight"], bias(appnp, "layers.0.bias"), true)),
		appnp["layers.1.weight"], bias(appnp, "layers.1.bias"), true)
	answers["appnp"] = h0
	for range 10 {
		next := both(answers["appnp"])
		answers["appnp"] = table(n, c, func(i, k int) float64 { return 0.9*next[i][k] + 0.1*h0[i][k] })
	}
	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	in := graph.Features{Dense: matrix(x)}
	nobody := &attach.Batch{X: in.Take(nil), R: &graph.CSR{Cols: n, RowPtr: []int{0}}}
	for name, state := range map[string]State{"gcn": gcn, "sage": sage, "sgc": sgc, "appnp": appnp} {
		got, err := state.Model(name, wanted)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, source := range got.Sources {
			if source.Tensor == "" || !state.has(source.Tensor) {
				t.Errorf("%s: %s comes from %q, which the file does not have", name, source.Param, source.Tensor)
			}
		}
		logits := got.Model.Joint(adj, plain.Raw(in), plain).(infer.NodeLogits).GraphLogits(nobody)
		for k, v := range logits.Data {
			if want := answers[name][k/c][k%c]; math.Abs(float64(v)-want) > 1e-5 {
				t.Errorf("%s: node %d, class %d: %v, want %v", name, k/c, k%c, v, want)
				break
			}
		}
	}
	delete(sage, "conv2.fc_self.weight")
	if _, err := sage.Model("sage", wanted); err == nil || !strings.Contains(err.Error(), "the aggregator gcn is not served") {
		t.Errorf("a SAGEConv with the aggregator gcn: %v", err)
	}
	twice := State{"c.fc_neigh.weight": tensorOf(1, h, d), "c.fc_self.weight": tensorOf(2, h, d),
		"c.fc_self.bias": tensorOf(3, h), "c.bias": tensorOf(4, h)}
	if _, err := twice.Model("sage", wanted); err == nil || !strings.Contains(err.Error(), "both a bias") {
		t.Errorf("two biases: %v", err)
	}
	pool := State{"c.fc_pool.weight": tensorOf(1, d, d)}
	for _, name := range []string{"1", "2"} {
		pool[name+".fc_neigh.weight"], pool[name+".fc_self.weight"] = tensorOf(1, h, d), tensorOf(2, h, d)
	}
	pool["2.fc_neigh.weight"], pool["2.fc_self.weight"] = tensorOf(1, c, h), tensorOf(2, c, h)
	if _, err := pool.Model("sage", wanted); err == nil || !strings.Contains(err.Error(), "fc_pool") {
		t.Errorf("the aggregator pool: %v", err)
	}
}

// table makes a matrix of float64.
func table(rows, columns int, of func(i, k int) float64) [][]float64 {
	out := make([][]float64, rows)
	for i := range out {
		out[i] = slices.Repeat([]float64{0}, columns)
		for k := range out[i] {
			out[i][k] = of(i, k)
		}
	}
	return out
}
