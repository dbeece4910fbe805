package condense

import (
	"math"

	"rivulet/graph"
	"rivulet/infer"
)

// sgcMessages weigh the tables of SGC by what an arrival makes of them, over the edges between support nodes and T: [u1, s0·u0, cs·c]
// with s0 = RMS of 1/D_i and cs = RMS of ‖z_i‖/√D_i, z_i = x_i W less its mean over classes. Without edges both are 1.
func sgcMessages(m *infer.SGC, s Support) infer.Messages {
	z := s.Pre.Fold(m.W).Apply(s.Batch.X)
	hop := s.mean(func(i int) float64 { return 1 / sq(s.degree(i)+1) })
	back := s.mean(func(i int) float64 { return squaredLength(centred(z.Row(i))) / (s.degree(i) + 1) })
	return infer.Messages{U: []infer.Part{{Scale: float32(math.Sqrt(hop))}, {Scale: 1}}, C: infer.Part{Scale: float32(math.Sqrt(back))}}
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
