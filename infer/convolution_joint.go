package infer

import "rivulet/graph"

// joint deploys the model on the graph with the batch in it (paper's Eq. 11).
func (c *convolution) joint(adj *graph.CSR, x Inputs, pre *Preprocess) *jointConvolution {
	z := x.Project(c.first)
	checkGraph(adj, z.Rows, "features")
	return &jointConvolution{convolution: c, host: newHost(adj, c.scaling), project: pre.Fold(c.first), z: z}
}

// neighbourhood computes first layers next to the batch only.
func (c *convolution) neighbourhood(adj *graph.CSR, x Inputs, pre *Preprocess) *nearConvolution {
	return &nearConvolution{c.joint(adj, x, pre)}
}

type jointConvolution struct {
	*convolution
	host    *host
	project *Projection
	z       *graph.Dense // m×h or m×2h: x [Wn1 | Ws1] of the graph's nodes
}

func (j *jointConvolution) Nodes() int { return j.host.adj.Rows }

func (j *jointConvolution) enter(b *Batch) (joint *joined, zb *graph.Dense) {
	b.check(j.Nodes())
	return j.host.join(b), j.project.Apply(b.X)
}

// nodeMessages are h [Wn2 | Ws2] of the graph's nodes, or of the near ones only. Hidden states are a row of scratch, never
// m×h.
func (j *jointConvolution) nodeMessages(joint *joined, nearOnly bool, zb *graph.Dense) *graph.Dense {
	rows := j.Nodes()
	if nearOnly {
		rows = len(joint.near)
	}
	t := graph.NewDense(rows, j.second.Cols)
	joint.eachNode(nearOnly, j.hidden(), j.z, zb, func(s *scratch, k int, node int32) {
		j.activate(s.row, j.z.Row(int(node)))
		s.addProduct(t.Row(k), j.second)
	})
	return t
}

// arrivalMessages are h [Wn2 | Ws2] of the arrivals.
func (j *jointConvolution) arrivalMessages(joint *joined, zb *graph.Dense) *graph.Dense {
	t := graph.NewDense(zb.Rows, j.second.Cols)
	joint.eachArrival(j.hidden(), j.z, false, zb, func(s *scratch, i int) {
		j.activate(s.row, zb.Row(i))
		s.addProduct(t.Row(i), j.second)
	})
	return t
}

func (j *jointConvolution) Logits(b *Batch) *graph.Dense { return j.logits(b, false) }

func (j *jointConvolution) logits(b *Batch, nearOnly bool) *graph.Dense {
	joint, zb := j.enter(b)
	tg, tb := j.nodeMessages(joint, nearOnly, zb), j.arrivalMessages(joint, zb)
	out := joint.arrivals(j.classes(), tg, nearOnly, tb)
	for i := range out.Rows {
		j.close(out.Row(i), tb.Row(i))
	}
	return out
}

// GraphLogits returns the logits of the graph's own nodes with the batch in the graph, m×C.
func (j *jointConvolution) GraphLogits(b *Batch) *graph.Dense {
	nodes, _ := j.everywhere(b)
	return nodes
}

func (j *jointConvolution) everywhere(b *Batch) (nodes, arrivals *graph.Dense) {
	joint, zb := j.enter(b)
	tg, tb := j.nodeMessages(joint, false, zb), j.arrivalMessages(joint, zb)
	nodes, arrivals = joint.nodes(false, j.classes(), tg, tb), joint.arrivals(j.classes(), tg, false, tb)
	for i := range nodes.Rows {
		j.close(nodes.Row(i), tg.Row(i))
	}
	for i := range arrivals.Rows {
		j.close(arrivals.Row(i), tb.Row(i))
	}
	return nodes, arrivals
}

// Embeddings are the hidden states of the arrivals after the relu, n×h.
func (j *jointConvolution) Embeddings(b *Batch) *graph.Dense {
	joint, zb := j.enter(b)
	out := graph.NewDense(b.Len(), j.hidden())
	joint.eachArrival(j.hidden(), j.z, false, zb, func(s *scratch, i int) {
		j.activate(s.row, zb.Row(i))
		copy(out.Row(i), s.row)
	})
	return out
}

// nearConvolution is jointConvolution with the first layer of the arrivals' neighbours only: the same bits.
type nearConvolution struct{ joint *jointConvolution }

func (n *nearConvolution) Nodes() int                       { return n.joint.Nodes() }
func (n *nearConvolution) Logits(b *Batch) *graph.Dense     { return n.joint.logits(b, true) }
func (n *nearConvolution) Embeddings(b *Batch) *graph.Dense { return n.joint.Embeddings(b) }
