package reference

// Growing is a model whose arrivals have tables of their own, for later arrivals to read.
type Growing interface {
	// Arrived are the arrivals' rows of Tables, each with one neighbour more (section 2 with the arrival for node j): a·u0 of
	// the graph's tables in place of Σ_k B_jk x_k W/√D_k, and what the arrivals of ã send.
	Arrived(t Tables, b Arrivals) Tables
}

// Grow is T with arrival i of a batch on T as its last node.
func (b Arrivals) Grow(graph, x Matrix, i int) (grown, features Matrix) {
	one := b.Alone(i)
	return Attached(graph, one), x.Stack(one.X)
}
