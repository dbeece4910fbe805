package infer

import "rivulet/graph"

// jointCheby3 is a Cheby of K = 3 on a graph with the batch in it. With S = D^-½ A D^-½, so that L̂ = −S, Clenshaw's
// recurrence makes of a layer's three products z_k = x W[k]
//
//	z_0 + L̂ z_1 + (2L̂² − 1) z_2 = (z_0 − z_2) − S(z_1 − 2 S z_2)
//
// which applies S twice. The products stand side by side, [z_2 | z_1 | z_0 − z_2].
type jointCheby3 struct {
	host          *host
	project       *Projection  // d×3h
	z             *graph.Dense // m×3h
	second        *graph.Dense // h×3C
	hidden, final []float32    // biases, h and C
}

// clenshaw puts the matrices of a layer side by side: [W2 | W1 | W0 − W2].
func clenshaw(w []*graph.Dense) *graph.Dense {
	rest := w[0].Clone()
	graph.Axpy(rest.Data, -1, w[2].Data)
	return beside(w[2], w[1], rest)
}

func (m *Cheby) joint3(adj *graph.CSR, x Inputs, pre *Preprocess) *jointCheby3 {
	first := clenshaw(m.W1)
	z := x.Project(first)
	checkGraph(adj, z.Rows, "features")
	return &jointCheby3{host: newHost(adj, symmetric), project: pre.Fold(first), z: z, second: clenshaw(m.W2), hidden: m.B1, final: m.B2}
}

func (j *jointCheby3) Nodes() int { return j.host.adj.Rows }

// inner turns the first two blocks of rows [z2 | z1 | z0−z2] and S z2 into z1 − 2 S z2, in the memory of S z2.
func inner(sz2, z *graph.Dense) *graph.Dense {
	for i := range sz2.Rows {
		row, z1 := sz2.Row(i), z.Row(i)[sz2.Cols:]
		for k := range row {
			row[k] = z1[k] - float32(2*row[k])
		}
	}
	return sz2
}

// outer makes (z0 − z2) − sum + bias of a row of S(z1 − 2 S z2).
func outer(sum, z, bias []float32) {
	rest := z[2*len(sum):]
	for k := range sum {
		sum[k] = rest[k] - sum[k] + bias[k]
	}
}

// layer returns the inner blocks, which both outer ones read.
func (j *jointCheby3) layer(joint *joined, width int, zg, zb *graph.Dense) (g, b *graph.Dense) {
	return inner(joint.nodes(false, width, zg, zb), zg), inner(joint.arrivals(width, zg, false, zb), zb)
}

// messages are h [W2 | W1 | W0 − W2] of the second layer, of the graph's nodes and of the arrivals.
func (j *jointCheby3) messages(joint *joined, zb *graph.Dense) (tg, tb *graph.Dense) {
	width := len(j.hidden)
	g, b := j.layer(joint, width, j.z, zb)
	tg, tb = graph.NewDense(g.Rows, j.second.Cols), graph.NewDense(b.Rows, j.second.Cols)
	joint.eachNode(false, width, g, b, func(s *scratch, k int, _ int32) {
		outer(s.row, j.z.Row(k), j.hidden)
		relu(s.row)
		s.addProduct(tg.Row(k), j.second)
	})
	joint.eachArrival(width, g, false, b, func(s *scratch, i int) {
		outer(s.row, zb.Row(i), j.hidden)
		relu(s.row)
		s.addProduct(tb.Row(i), j.second)
	})
	return tg, tb
}

func relu(x []float32) {
	for k, v := range x {
		x[k] = max(v, 0)
	}
}

func (j *jointCheby3) Logits(b *Batch) *graph.Dense {
	b.check(j.Nodes())
	joint := j.host.join(b)
	tg, tb := j.messages(joint, j.project.Apply(b.X))
	g, a := j.layer(joint, len(j.final), tg, tb)
	out := joint.arrivals(len(j.final), g, false, a)
	for i := range out.Rows {
		outer(out.Row(i), tb.Row(i), j.final)
	}
	return out
}

// GraphLogits returns the logits of the graph's own nodes with the batch in the graph, m×C.
func (j *jointCheby3) GraphLogits(b *Batch) *graph.Dense {
	nodes, _ := j.everywhere(b)
	return nodes
}

func (j *jointCheby3) everywhere(b *Batch) (nodes, arrivals *graph.Dense) {
	b.check(j.Nodes())
	joint := j.host.join(b)
	tg, tb := j.messages(joint, j.project.Apply(b.X))
	g, a := j.layer(joint, len(j.final), tg, tb)
	nodes, arrivals = joint.nodes(false, len(j.final), g, a), joint.arrivals(len(j.final), g, false, a)
	for i := range nodes.Rows {
		outer(nodes.Row(i), tg.Row(i), j.final)
	}
	for i := range arrivals.Rows {
		outer(arrivals.Row(i), tb.Row(i), j.final)
	}
	return nodes, arrivals
}

// Embeddings are the hidden states of the arrivals after the relu, n×h.
func (j *jointCheby3) Embeddings(b *Batch) *graph.Dense {
	b.check(j.Nodes())
	joint, zb, width := j.host.join(b), j.project.Apply(b.X), len(j.hidden)
	g, a := j.layer(joint, width, j.z, zb)
	out := joint.arrivals(width, g, false, a)
	for i := range out.Rows {
		outer(out.Row(i), zb.Row(i), j.hidden)
		relu(out.Row(i))
	}
	return out
}
