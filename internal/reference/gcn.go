package reference

// GCN is logits = Â relu(Â X W1 + b1) W2 + b2. It is here for the error propagation that starts from its logits.
type GCN struct {
	W1 Matrix    // d×hidden
	B1 []float64 // hidden
	W2 Matrix    // hidden×C
	B2 []float64 // C
}

// On returns the logits of the nodes of a graph by itself, m×C.
func (g GCN) On(graph, x Matrix) Matrix {
	op := AHat(graph)
	p := op.Mul(x.Mul(g.W1)).AddRow(g.B1)
	hidden := At(len(p), p.Cols(), func(i, k int) float64 { return max(p[i][k], 0) })
	return op.Mul(hidden.Mul(g.W2)).AddRow(g.B2)
}

// Joint runs the model on the graph with the batch in it: the logits of the graph's nodes and of the arrivals.
func (g GCN) Joint(graph, x Matrix, b Arrivals) (nodes, arrivals Matrix) {
	all := g.On(Attached(graph, b), x.Stack(b.X))
	return all[:len(graph)], all[len(graph):]
}
