package condense

import (
	"math"

	"rivulet/graph"
	"rivulet/infer"
)

// MessageScales weigh the tables of SGC in the solve for M by what an arrival makes of them (docs/algorithm.md, section 5,
// step 3), over the edges between support nodes and T.
type MessageScales struct {
	Hop  float32 // s0 = RMS of 1/D_i
	Back float32 // cs = RMS of ‖z_i‖/√D_i, z_i less its mean over classes
}

// ScalesOf measures the scales on the support nodes attached to T; z are their projected features (n×C).
func ScalesOf(support *infer.Batch, z *graph.Dense) MessageScales {
	hop, back, edges := 0.0, 0.0, 0.0
	for i := range support.Len() {
		known := float64(support.Known[i])
		degree := 1 + known
		if support.Adj != nil {
			degree += float64(support.Adj.RowLen(i))
		}
		norm := 0.0
		for _, v := range centred(z.Row(i)) {
			norm += float64(v) * float64(v)
		}
		hop += known / (degree * degree)
		back += known * norm / degree
		edges += known
	}
	if edges == 0 {
		return MessageScales{Hop: 1, Back: 1} // nothing to measure on: as for arrivals with unit degree and features
	}
	return MessageScales{Hop: float32(math.Sqrt(hop / edges)), Back: float32(math.Sqrt(back / edges))}
}

// centred is a row less its mean: what softmax sees of it.
func centred(row []float32) []float32 {
	mean := float32(0)
	for _, v := range row {
		mean += v / float32(len(row))
	}
	out := make([]float32, len(row))
	for k, v := range row {
		out[k] = v - mean
	}
	return out
}

// ClusterMeans are the weighted means of the rows of each cluster, N'×p; nodes in no cluster are left out.
func ClusterMeans(rows *graph.Dense, c *Clusters, weights []float32) *graph.Dense {
	out := graph.NewDense(len(c.Size), rows.Cols)
	total := make([]float64, len(c.Size))
	for j, k := range c.Of {
		if k < 0 {
			continue
		}
		graph.Axpy(out.Row(int(k)), weights[j], rows.Row(j))
		total[k] += float64(weights[j])
	}
	for k := range out.Rows {
		row := out.Row(k)
		for i := range row {
			row[i] = float32(float64(row[i]) / total[k])
		}
	}
	return out
}
