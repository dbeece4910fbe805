package infer_test

import (
	"fmt"
	"strings"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/infertest"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// A wrong shape inside the core is a programming error; the panic says which shapes met.
func TestMisusePanics(t *testing.T) {
	const m, d, c = 4, 5, 3
	model := infertest.Model("sgc", 0, 2, architecture.Layer{Self: graph.NewDense(d, c), Bias: make([]float32, c)})
	none := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	square := graph.NewCSR(m, m, nil)
	table := graph.NewDense
	good := &infer.Tables{U: []*graph.Dense{table(m, c), table(m, c)}, C: table(m, 1)}
	features := func(r, c int) graph.Features { return graph.Features{Dense: table(r, c)} }
	batch := func(change func(b *attach.Batch)) *attach.Batch {
		b := &attach.Batch{X: features(2, d), R: graph.NewCSR(2, m, nil), Known: make([]int32, 2)}
		change(b)
		return b
	}
	wrongBatches := map[string]*attach.Batch{
		"2 feature rows and 7 columns on a graph of 4": batch(func(b *attach.Batch) { b.R = graph.NewCSR(2, 7, nil) }),
		"batch of 2 with 1 degrees":                    batch(func(b *attach.Batch) { b.Known = b.Known[:1] }),
		"3 feature rows":                               batch(func(b *attach.Batch) { b.X = features(3, d) }),
		"ã of 3×2":                                     batch(func(b *attach.Batch) { b.Adj = graph.NewCSR(3, 2, nil) }),
	}
	local := model.Neighbourhood(square, preprocess.Ready(table(m, d)), none)
	frozen, joint := model.Frozen(good, none), model.Joint(square, preprocess.Ready(table(m, d)), none)
	seeds := infer.PropagationTables(square, table(m, c), 0.9)
	cases := map[string]func(){
		"features of 2×6 for weights of 5×3": func() {
			frozen.Logits(batch(func(b *attach.Batch) { b.X = features(2, 6) }))
		},
		"tables u0 4×3, c 4×1, wants": func() { model.Frozen(&infer.Tables{U: good.U[:1], C: good.C}, none) },
		"no tables":                   func() { model.Frozen(&infer.Tables{}, none) },
		"u0 4×3, u1 4×3, wants":       func() { model.Frozen(&infer.Tables{U: good.U}, none) },
		"u0 4×3, u1 6×3": func() {
			model.Frozen(&infer.Tables{U: []*graph.Dense{good.U[0], table(6, c)}, C: good.C}, none)
		},
		"u0 4×2, u1 4×3": func() {
			model.Frozen(&infer.Tables{U: []*graph.Dense{table(m, 2), good.U[1]}, C: good.C}, none)
		},
		"c 4×2":                                func() { model.Frozen(&infer.Tables{U: good.U, C: table(m, 2)}, none) },
		"9 rows of features on a graph of 4×4": func() { model.Tables(square, preprocess.Ready(table(9, d))) },
		"8 rows of features on a graph of 4×4": func() { model.Joint(square, preprocess.Ready(table(8, d)), none) },
		"4 rows of features on a graph of 4×5": func() {
			model.Joint(graph.NewCSR(m, 5, nil), preprocess.Ready(table(m, d)), none)
		},
		"features of 4×6 for weights of 5×3":   func() { model.Joint(square, preprocess.Ready(table(m, 6)), none) },
		"3 rows of features on a graph of 4×4": func() { model.Neighbourhood(square, preprocess.Ready(table(3, d)), none) },
		`"l2-center" with a mean of 2 and deviations of 0 on weights of 5×3`: func() {
			model.Frozen(good, &preprocess.Parameters{Kind: preprocess.L2Center, Mean: make([]float32, 2), Scale: 1})
		},
		`"standardize" with a mean of 5 and deviations of 0 on weights of 5×3`: func() {
			model.Frozen(good, &preprocess.Parameters{Kind: preprocess.Standardize, Mean: make([]float32, d), Scale: 1})
		},
		"propagation on tables u0 4×3, u1 4×3, c 4×1": func() { infer.FrozenPropagation(good, 0.9, false) },
		"propagation on no tables":                    func() { infer.FrozenPropagation(&infer.Tables{}, 0.9, false) },
		"propagation on tables u0 4×3, u1 4×2": func() {
			infer.FrozenPropagation(&infer.Tables{U: []*graph.Dense{table(m, 3), table(m, 2)}}, 0.9, false)
		},
		"5 rows of seeds on a graph of 4×4":  func() { infer.PropagationTables(square, table(5, c), 0.9) },
		"2 rows of labels on a graph of 4×4": func() { infer.JointLabels(square, make([]int32, 2), c, 0.9) },
		"1 rows of labels on a graph of 4×4": func() {
			infer.JointErrors(square, make([]int32, 1), joint.(infer.NodeLogits), 0.9)
		},
		"3 labels for logits of 4×3": func() { infer.ErrorSeeds(make([]int32, 3), table(m, c)) },
		"logits of 2×3 with a propagation of 2×4": func() {
			infer.Calibration{Temperature: 1}.Probabilities(table(2, 3), table(2, 4))
		},
		`calibration "lp" with propagation <nil>`: func() {
			predictor(frozen, nil, propagation.Labels).Predict(batch(func(*attach.Batch) {}))
		},
		`calibration "none" with propagation *infer.f`: func() {
			predictor(frozen, infer.FrozenPropagation(seeds, 0.9, true),
				propagation.None).Predict(batch(func(*attach.Batch) {}))
		},
	}
	for name, f := range misuseOfModels(m) {
		cases[name] = f
	}
	for want, b := range wrongBatches {
		cases["frozen: "+want] = func() { frozen.Logits(b) }
		cases["joint: "+want] = func() { joint.Logits(b) }
		cases["neighbourhood: "+want] = func() { local.Logits(b) }
		cases["joint nodes: "+want] = func() { joint.(infer.NodeLogits).GraphLogits(b) }
		cases["frozen propagation: "+want] = func() { infer.FrozenPropagation(seeds, 0.9, true).Propagate(b) }
		cases["joint propagation: "+want] = func() { infer.JointLabels(square, make([]int32, m), c, 0.9).Propagate(b) }
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			_, want, ok := strings.Cut(name, ": ")
			if !ok {
				want = name
			}
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q, want one with %q", got, want)
				}
			}()
			f()
		})
	}
}

func predictor(model infer.Deployment, p infer.Propagation, kind string) *infer.Predictor {
	return &infer.Predictor{Model: model, Propagation: p, Calibration: infer.Calibration{Kind: kind, Temperature: 1,
		Alpha: 0.9}}
}

// misuseOfModels are calls that all models but SGC refuse on a graph of m nodes.
func misuseOfModels(m int) map[string]func() {
	const d, h, c = 5, 4, 3
	table := graph.NewDense
	none := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	b1, b2 := make([]float32, h), make([]float32, c)
	gcn := infertest.Model("gcn", 0, 0, architecture.Layer{Neighbours: table(d, h), Bias: b1},
		architecture.Layer{Neighbours: table(h, c), Bias: b2})
	appnp := infertest.Model("appnp", 0.1, 2, architecture.Layer{Self: table(d, h), Bias: b1},
		architecture.Layer{Self: table(h, c), Bias: b2})
	cubic := cubicCheby([]*graph.Dense{table(d, h), table(d, h), table(d, h)},
		[]*graph.Dense{table(h, c), table(h, c), table(h, c)}, b1, b2)
	square := graph.NewCSR(m, m, nil)
	tables := func(c *graph.Dense, u ...*graph.Dense) *infer.Tables { return &infer.Tables{U: u, C: c} }
	wrong := preprocess.Ready(table(m+1, d))
	return map[string]func(){
		"gcn of 4 hidden units and 3 classes on tables u0 4×4, u1 4×3, c 4×1, wants": func() {
			gcn.Frozen(tables(table(m, 1), table(m, h), table(m, c)), none)
		},
		"gcn of 4 hidden units and 3 classes on tables u0 4×3, u1 4×3, c 4×4": func() {
			gcn.Frozen(tables(table(m, h), table(m, c), table(m, c)), none)
		},
		"gcn of 4 hidden units and 3 classes on tables u0 4×4, c 4×4": func() {
			gcn.Frozen(tables(table(m, h), table(m, h)), none)
		},
		"appnp of 3 classes and 2 hops on tables u0 4×3, c 4×1, wants 2 tables": func() {
			appnp.Frozen(tables(table(m, 1), table(m, c)), none)
		},
		"appnp of 3 classes and 2 hops on tables u0 4×3, u1 4×2, c 4×1": func() {
			appnp.Frozen(tables(table(m, 1), table(m, c), table(m, 2)), none)
		},
		"appnp of 3 classes and 2 hops on no tables": func() {
			appnp.Frozen(&infer.Tables{}, none)
		},
		"cheby with K = 3 has no frozen form": func() {
			cubic.Tables(square, preprocess.Ready(table(m, d)))
		},
		"frozen: cheby with K = 3 has no frozen form": func() {
			cubic.Frozen(tables(table(m, h), table(m, h), table(m, c)), none)
		},
		"gcn tables: 5 rows of features on a graph of 4×4": func() { gcn.Tables(square, wrong) },
		"gcn joint: 5 rows of features on a graph of 4×4": func() {
			gcn.Joint(square, wrong, none)
		},
		"appnp tables: 5 rows of features on a graph of 4×4": func() { appnp.Tables(square, wrong) },
		"appnp joint: 5 rows of features on a graph of 4×4": func() {
			appnp.Joint(square, wrong, none)
		},
		"cheby joint: 5 rows of features on a graph of 4×4": func() {
			cubic.Joint(square, wrong, none)
		},
	}
}
