package infer

import (
	"rivulet/graph"
	"rivulet/infer/attach"
)

// messages are the rows that a layer sums over neighbours, from rows zg and zb of x·w: their leading columns or, with a
// second hop, x Wn + P(x Wf).
func (l *layer) messages(joint *jointGraph, zg, zb *graph.Dense) (g, b *graph.Dense) {
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

// hidden takes both blocks through a hidden layer, to the rows of h·w of the next. Of the graph's nodes it computes
// the near ones only where that is asked for. Hidden states are a row of scratch, never m×h.
func (c *convolution) hidden(j *jointGraph, n int, zg, zb *graph.Dense, near bool) (tg, tb *graph.Dense) {
	l, next := c.layers[n], c.layers[n+1]
	rows := zg.Rows
	if near {
		rows = len(j.near)
	}
	tg, tb = j.batch.Dense(rows, next.w.Cols), j.batch.Dense(zb.Rows, next.w.Cols)
	g, b := l.messages(j, zg, zb)
	j.eachNode(near, l.width(), g, b, nil, func(s *scratch, k int, node int32) {
		l.close(s.row, zg.Row(int(node)))
		s.addProduct(tg.Row(k), next.w)
	})
	j.eachArrival(l.width(), g, false, b, nil, func(s *scratch, i int) {
		l.close(s.row, zb.Row(i))
		s.addProduct(tb.Row(i), next.w)
	})
	return tg, tb
}

func (c *convolution) run(j *jointGraph, zg, zb *graph.Dense, all, near bool) (nodes, arrivals *graph.Dense) {
	return c.through(len(c.layers), j, zg, zb, all, near)
}

// through takes both blocks through the first layers and returns the states or logits behind the last of these.
func (c *convolution) through(layers int, j *jointGraph, zg, zb *graph.Dense, all, near bool) (
	nodes, arrivals *graph.Dense) {
	for n := range layers - 1 {
		zg, zb = c.hidden(j, n, zg, zb, near && n+2 == len(c.layers))
	}
	l := c.layers[layers-1]
	g, b := l.messages(j, zg, zb)
	if all {
		nodes = l.closed(j.nodes(false, l.width(), g, b), zg)
	}
	return nodes, l.closed(j.arrivals(l.width(), g, near, b), zb)
}

// closed closes all rows of sums and returns them.
func (l *layer) closed(sums, z *graph.Dense) *graph.Dense {
	for i := range sums.Rows {
		l.close(sums.Row(i), z.Row(i))
	}
	return sums
}

// embed returns the last hidden states of the arrivals, n×h.
func (c *convolution) embed(j *joint, b *attach.Batch) *graph.Dense {
	on, zg, zb := j.enter(b)
	_, arrivals := c.through(len(c.layers)-1, on, zg, zb, false, false)
	return arrivals
}
