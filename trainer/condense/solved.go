package condense

import "rivulet/graph"

// centred is a row less its mean, which softmax does not see.
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
