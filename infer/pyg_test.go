package infer_test

import (
	"fmt"
	"strings"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/test/reference"
)

// Joint attachment is a forward pass over the graph with the batch in it. testdata/pyg.npz and pyg_deep.npz have what
// PyTorch Geometric says of one weighted and one plain graph; testdata/pyg_goldens.py makes them.
const (
	pygArrivals = 12 // the last nodes
	pygTol      = 1e-5
)

// pygModel builds a model of the file from its state_dict: PyTorch's weight is the transpose.
func pygModel(t *testing.T, g *reference.Goldens, prefix string) infer.Model {
	t.Helper()
	var params []infer.Param
	for _, name := range g.Unused(prefix + ".weights.") {
		value := g.Matrix(name)
		if strings.HasSuffix(name, "weight") {
			value = value.T()
		}
		params = append(params, infer.Param{Name: strings.TrimPrefix(name, prefix+".weights."), Value: dense(value)})
	}
	name, depth, _ := strings.Cut(prefix, "_")
	if strings.HasPrefix(name, "cheby") {
		name = "cheby"
	}
	switch {
	case name == "appnp":
		params = append(params, scalar("alpha", 0.1), scalar("hops", 10))
	case name == "ssgc":
		params = append(params, scalar("alpha", 0.25), scalar("hops", float32(depth[0]-'0')))
	case name == "sgc" && depth != "":
		params = append(params, scalar("hops", float32(depth[0]-'0')))
	}
	m, err := infer.Build(name, params)
	expect.OK(t, err)
	return m
}

// pygSplit makes a host graph and a batch of one graph.
func pygSplit(adj, x reference.Matrix, asSparse bool) (host *graph.CSR, nodes preprocess.Inputs, b *attach.Batch) {
	m := len(adj) - pygArrivals
	block := func(row, col, rows, cols int) *graph.CSR {
		part := reference.At(rows, cols, func(i, k int) float64 { return adj[row+i][col+k] })
		return sparse(part, rows, cols)
	}
	features := func(x reference.Matrix) graph.Features {
		if asSparse {
			return graph.Features{Sparse: sparse(x, len(x), x.Cols())}
		}
		return graph.Features{Dense: dense(x)}
	}
	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	b = &attach.Batch{X: features(x[m:]), R: block(m, 0, pygArrivals, m), Known: make([]int32, pygArrivals),
		Adj: block(m, m, pygArrivals, pygArrivals)}
	b.Adj.DropOnes()
	return block(0, 0, m, m), plain.Raw(features(x[:m])), b
}

func TestEq11JointIsPyTorchGeometrics(t *testing.T) {
	jointIsPyTorchGeometrics(t, "testdata/pyg.npz", "sgc", "gcn", "sage", "appnp", "cheby2", "cheby3")
	jointIsPyTorchGeometrics(t, "testdata/pyg_deep.npz", "sgc_1", "sgc_3", "gcn_3", "sage_3", "ssgc_5")
}

func jointIsPyTorchGeometrics(t *testing.T, file string, models ...string) {
	t.Helper()
	g, err := reference.ReadGoldens(file)
	expect.OK(t, err)
	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	for _, name := range models {
		m := pygModel(t, g, name)
		for _, kind := range []string{"weighted", "plain"} {
			adj := g.Matrix(kind + ".adj")
			for _, features := range []string{"dense", "sparse"} {
				where := fmt.Sprintf("%s.%s.%s", name, kind, features)
				want := g.Matrix(where)
				host, nodes, b := pygSplit(adj, g.Matrix(kind+".x_"+features), features == "sparse")
				joint := m.Joint(host, nodes, plain).(infer.NodeLogits)
				near(t, where+" nodes", joint.GraphLogits(b), want[:host.Rows], pygTol)
				near(t, where+" arrivals", joint.Logits(b), want[host.Rows:], pygTol)
			}
		}
	}
	if names := g.Unused(""); names != nil {
		t.Errorf("known answers not compared with: %v", names)
	}
}
