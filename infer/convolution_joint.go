package infer

import "rivulet/graph"

// jointConvolution is the model on the graph with the batch in it (paper's Eq. 11).
type jointConvolution struct {
	*convolution
	host    *host
	project *Projection
	z       *graph.Dense // m×: x·w of the graph's nodes
}

func (c *convolution) joint(adj *graph.CSR, x Inputs, pre *Preprocess) jointForm {
	z := x.Project(c.first().w)
	checkGraph(adj, z.Rows, "features")
	return &jointConvolution{convolution: c, host: newHost(adj, c.Operator), project: pre.Fold(c.first().w), z: z}
}

func (j *jointConvolution) Nodes() int { return j.host.adj.Rows }

// messages are what a layer's sums are taken of, with zg and zb the rows of x·w: their leading columns, or with a second hop
// x Wn + P(x Wf).
func (l *convolved) messages(joint *joined, zg, zb *graph.Dense) (g, b *graph.Dense) {
	if !l.far {
		return zg, zb
	}
	g, b = joint.nodes(false, l.width(), zg, zb), joint.arrivals(l.width(), zg, false, zb)
	for _, of := range []struct{ sum, z *graph.Dense }{{g, zg}, {b, zb}} {
		for i := range of.sum.Rows {
			graph.Add(of.sum.Row(i), of.z.Row(i)[l.width():2*l.width()])
		}
	}
	return g, b
}

// hidden takes both blocks through a hidden layer, to the rows of h·w of the next. Of the graph's nodes it computes the near ones only
// where that is asked for. Hidden states are a row of scratch, never m×h.
func (j *jointConvolution) hidden(joint *joined, n int, zg, zb *graph.Dense, nearOnly bool) (tg, tb *graph.Dense) {
	l, next := j.layers[n], j.layers[n+1]
	rows := j.Nodes()
	if nearOnly {
		rows = len(joint.near)
	}
	tg, tb = graph.NewDense(rows, next.w.Cols), graph.NewDense(zb.Rows, next.w.Cols)
	g, b := l.messages(joint, zg, zb)
	joint.eachNode(nearOnly, l.width(), g, b, func(s *scratch, k int, node int32) {
		l.close(s.row, zg.Row(int(node)))
		s.addProduct(tg.Row(k), next.w)
	})
	joint.eachArrival(l.width(), g, false, b, func(s *scratch, i int) {
		l.close(s.row, zb.Row(i))
		s.addProduct(tb.Row(i), next.w)
	})
	return tg, tb
}

// enter takes a batch through the hidden layers but the last few.
func (j *jointConvolution) enter(b *Batch, but int, nearOnly bool) (joint *joined, zg, zb *graph.Dense) {
	b.check(j.Nodes())
	joint, zg, zb = j.host.join(b), j.z, j.project.Apply(b.X)
	for n := range len(j.layers) - 1 - but {
		zg, zb = j.hidden(joint, n, zg, zb, nearOnly && n+2 == len(j.layers))
	}
	return joint, zg, zb
}

func (j *jointConvolution) logits(b *Batch, nearOnly bool) *graph.Dense {
	joint, tg, tb := j.enter(b, 0, nearOnly)
	return j.last().arrivals(joint, tg, tb, nearOnly)
}

// arrivals are the states or logits that a layer gives the arrivals.
func (l *convolved) arrivals(joint *joined, zg, zb *graph.Dense, nearOnly bool) *graph.Dense {
	g, b := l.messages(joint, zg, zb)
	out := joint.arrivals(l.width(), g, nearOnly, b)
	for i := range out.Rows {
		l.close(out.Row(i), zb.Row(i))
	}
	return out
}

func (j *jointConvolution) everywhere(b *Batch) (nodes, arrivals *graph.Dense) {
	joint, tg, tb := j.enter(b, 0, false)
	l := j.last()
	mg, mb := l.messages(joint, tg, tb)
	nodes = joint.nodes(false, l.width(), mg, mb)
	for i := range nodes.Rows {
		l.close(nodes.Row(i), tg.Row(i))
	}
	return nodes, l.arrivals(joint, tg, tb, false)
}

// Embeddings are the last hidden states of the arrivals, n×h.
func (j *jointConvolution) Embeddings(b *Batch) *graph.Dense {
	joint, zg, zb := j.enter(b, 1, false)
	return j.layers[len(j.layers)-2].arrivals(joint, zg, zb, false)
}
