package infer

import "rivulet/graph"

// joinFull is join of edges in full.
func (j *joined) joinFull() {
	b, m, n := j.batch, j.adj.Rows, j.batch.Len()
	j.near = j.all
	j.full, j.fullT = b.dense(n, m), b.dense(m, n)
	graph.ParallelRows(m, 8*m*n, func(lo, hi int) {
		fromBatch := j.inG[lo:hi]
		if n == 1 { // which is its own transpose
			copy(j.fullT.Data[lo:hi], b.Full.Data[lo:hi])
			copy(fromBatch, b.Full.Data[lo:hi])
		} else {
			for at := lo; at < hi; at += readBlock {
				j.joinColumns(at, min(at+readBlock, hi), fromBatch[at-lo:])
			}
		}
		j.host.setSums(fromBatch, j.outG[lo:hi], j.degrees[lo:hi], fromBatch)
	})
	graph.ParallelRows(n, 8*m*n, func(lo, hi int) {
		for ; lo < hi; lo += readBlock {
			j.joinRows(lo, min(lo+readBlock, hi))
		}
	})
	if n == 1 {
		graph.Scale(j.fullT.Data, j.inB[0])
	} else {
		graph.ParallelRows(m, 4*m*n, func(lo, hi int) {
			for node := lo; node < hi; node++ {
				times := j.fullT.Row(node)
				for i, in := range j.inB {
					times[i] *= in
				}
			}
		})
	}
	j.coef = coefficients(b.floats(j.adj.NNZ()), j.adj.ColIdx, j.adj.Val, j.inG)
}

// joinColumns sets the edges of the nodes lo to hi, readBlock at most, to the arrivals, and the sum of each node's. Edges of some nodes of one
// arrival lie side by side, those of one node far from each other.
func (j *joined) joinColumns(lo, hi int, sums []float32) {
	var wide [readBlock]float64
	m, n := j.adj.Rows, j.batch.Len()
	for i := range n {
		for k, v := range j.batch.Full.Data[i*m+lo : i*m+hi] {
			j.fullT.Data[(lo+k)*n+i] = v
			wide[k] += float64(v)
		}
	}
	for k := range hi - lo {
		sums[k] = float32(wide[k])
	}
}

// joinRows sets the scales of arrivals lo to hi, readBlock at most, and their edges in full.
func (j *joined) joinRows(lo, hi int) {
	var degrees [readBlock]float64
	edges, m := j.batch.Full, j.adj.Rows
	i := lo
	for ; i+4 <= hi; i += 4 { // sums in double precision wait for each other, those of four rows do not
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
		j.inB[i], j.outB[i] = j.host.at(float64(j.among(i, float32(degrees[i-lo]))))
		row, in := j.full.Row(i)[:m], j.inG[:m]
		for node, v := range edges.Row(i)[:m] {
			row[node] = in[node] * v
		}
	}
}
