package infer_test

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// Two synthetic nodes of two classes; one arrival with a known neighbour on each side, and one of which nothing is
// known but its features.
func Example() {
	model, err := infer.Build("sgc", []infer.Param{
		{Name: "lin.weight", Value: &graph.Dense{Rows: 2, Cols: 2, Data: []float32{4, 0, 0, 4}}},
		{Name: "lin.bias", Value: &graph.Dense{Rows: 1, Cols: 2, Data: []float32{0, 0}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	synthetic := graph.NewCSR(2, 2, nil) // A', without edges
	features := preprocess.Ready(&graph.Dense{Rows: 2, Cols: 2, Data: []float32{1, 0, 0, 1}})
	predictor := infer.Predictor{
		Model:       model.Frozen(model.Tables(synthetic, features), &preprocess.Parameters{Kind: preprocess.None, Scale: 1}),
		Calibration: infer.Calibration{Kind: propagation.None, Temperature: 1},
	}

	left := attach.Row{Known: true, Cols: []int32{0}, Vals: []float32{2}} // rows of M
	right := attach.Row{Known: true, Cols: []int32{1}, Vals: []float32{1}}
	unknown := attach.Row{}
	arrivals := &attach.Batch{X: graph.Features{Dense: &graph.Dense{Rows: 2, Cols: 2, Data: []float32{1, 1, 0, 1}}}}
	arrivals.Attach([][]attach.Row{{left, right}, {unknown}}, 2)
	_, p := predictor.Predict(arrivals)
	for i := range p.Rows {
		fmt.Printf("class %d with probability %.2f, %d known neighbours\n", graph.ArgMax(p.Row(i)),
			p.Row(i)[graph.ArgMax(p.Row(i))], arrivals.Known[i])
	}
	// Output:
	// class 0 with probability 0.80, 2 known neighbours
	// class 1 with probability 0.98, 0 known neighbours
}

// The three nodes of the package's documentation.
func Example_threeNodes() {
	one := func(r, c int, values ...float32) *graph.Dense { return &graph.Dense{Rows: r, Cols: c, Data: values} }
	model, err := infer.NewSGC(one(2, 2, 1, 0, 0, 1), []float32{0, 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	edge := graph.NewCSR(2, 2, []graph.Edge{{Row: 0, Col: 1, Val: 1}, {Row: 1, Col: 0, Val: 1}})
	x, plain := preprocess.Ready(one(2, 2, 1, 0, 0, 1)), &preprocess.Parameters{Kind: preprocess.None, Scale: 1}

	tables := model.Tables(edge, x)
	fmt.Printf("u0 %.3f  u1 %.3f  c %.3f\n", tables.U[0].Row(0), tables.U[1].Row(0), tables.C.Row(0))
	arrival := &attach.Batch{X: graph.Features{Dense: one(1, 2, 0, 1)},
		R: graph.NewCSR(1, 2, []graph.Edge{{Row: 0, Col: 0, Val: 1}}), Known: []int32{1}}
	fmt.Printf("frozen %.3f\n", model.Frozen(tables, plain).Logits(arrival).Row(0))
	fmt.Printf("joint  %.3f\n", model.Joint(edge, x, plain).Logits(arrival).Row(0))
	// Output:
	// u0 [0.577 0.000]  u1 [0.192 0.236]  c [0.333]
	// frozen [0.340 0.583]
	// joint  [0.340 0.583]
}
