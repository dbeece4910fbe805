package infer

import (
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// joinFull is join of edges in full.
func (j *jointGraph) joinFull() {
	b, m, n := j.batch, j.adj.Rows, j.batch.Len()
	j.near = j.all
	j.full, j.fullT = b.Dense(n, m), b.Dense(m, n)
	blocks := func(rows int, f func(lo, hi int)) {
		graph.ParallelRows(rows, 8*m*n, func(lo, hi int) {
			for ; lo < hi; lo += attach.ReadBlock {
				f(lo, min(lo+attach.ReadBlock, hi))
			}
		})
	}
	blocks(n, j.scaleArrivals)
	blocks(m, j.joinNodes)
	blocks(n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row, in := j.full.Row(i)[:m], j.inG[:m]
			for node, v := range b.Full.Row(i)[:m] {
				row[node] = in[node] * v
			}
		}
	})
	j.coef = coefficients(b.Floats(j.adj.NNZ()), j.adj.ColIdx, j.adj.Val, j.inG)
}

// scaleArrivals sets the scales of arrivals lo to hi, ReadBlock at most.
func (j *jointGraph) scaleArrivals(lo, hi int) {
	var degrees [attach.ReadBlock]float64
	edges, m := j.batch.Full, j.adj.Rows
	i := lo
	for ; i+4 <= hi; i += 4 { // four rows at once: an addition to one sum need not wait for additions to the others
		var sa, sb, sc, sd float64
		a, b, c, d := edges.Row(i), edges.Row(i + 1)[:m], edges.Row(i + 2)[:m], edges.Row(i + 3)[:m]
		for node, v := range a[:m] {
			sa += float64(v)
			sb += float64(b[node])
			sc += float64(c[node])
			sd += float64(d[node])
		}
		degrees[i-lo], degrees[i-lo+1], degrees[i-lo+2], degrees[i-lo+3] = sa, sb, sc, sd
	}
	for ; i < hi; i++ {
		for _, v := range edges.Row(i) {
			degrees[i-lo] += float64(v)
		}
	}
	for i := lo; i < hi; i++ {
		j.inB[i], j.outB[i] = j.host.At(float64(j.among(i, float32(degrees[i-lo]))))
	}
}

// joinNodes sets the scales of nodes lo to hi, ReadBlock at most, and their rows of fullT. It goes through the batch
// arrival by arrival, because the edges of one arrival are side by side in memory.
func (j *jointGraph) joinNodes(lo, hi int) {
	var wide [attach.ReadBlock]float64
	m, n := j.adj.Rows, j.batch.Len()
	for i, in := range j.inB {
		for k, v := range j.batch.Full.Data[i*m+lo : i*m+hi] {
			j.fullT.Data[(lo+k)*n+i] = v * in
			wide[k] += float64(v)
		}
	}
	fromBatch := j.inG[lo:hi]
	for k := range fromBatch {
		fromBatch[k] = float32(wide[k])
	}
	j.host.SetSums(fromBatch, j.outG[lo:hi], j.degrees[lo:hi], fromBatch)
}

// fullRows is nodeRows of edges in full, with which all nodes are near.
func (j *jointGraph) fullRows(s *scratch, lo, hi int, zg, zb *graph.Dense) {
	for k := lo; k < hi; k++ {
		graph.AddRow(s.block.Row(k-lo), j.adj, k, j.coef[j.adj.RowPtr[k]:j.adj.RowPtr[k+1]], zg)
	}
	if zb.Rows != 1 {
		s.addEdges(j.fullT, lo, hi, zb)
		return
	}
	z := zb.Row(0)[:s.block.Cols] // one message for all, which needs no product
	for k, v := range j.fullT.Data[lo:hi] {
		graph.Axpy(s.block.Row(k), v, z)
	}
}

// Pass is a model on a graph that keeps only the graph, its features and the weights from batch to batch: a batch is
// one forward pass over the whole graph with the batch in it, from the features to the logits of all its nodes. The
// paper times Whole this way, and calling a model of PyTorch Geometric on the whole graph does the same. Products are
// taken in the cheapest order, weights before hops. [Network.Joint] gives the same logits, bit for bit.
type Pass struct {
	Model      Model
	Adj        *graph.CSR        // m×m
	X          preprocess.Inputs // m×d
	Preprocess *preprocess.Parameters
}

// Nodes is m.
func (p *Pass) Nodes() int { return p.Adj.Rows }

// Logits returns the arrivals' logits, n×C.
func (p *Pass) Logits(b *attach.Batch) *graph.Dense {
	_, arrivals := newJoint(p.Model, p.Adj, p.X, p.Preprocess).everywhere(b)
	return arrivals
}
