package condense

import (
	"math"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/growth"
	"rivulet/infer/nnls"
)

// Dictionary holds the messages with which rows of M are solved, for the nodes of T and later for arrivals.
type Dictionary struct {
	Parts    []growth.Messages // how each model's tables become messages, in the order of their columns
	Clusters *graph.Dense      // t', N'×p: the mean messages of each cluster; with indicators N' columns more

	nodes      *graph.Dense // t, N×p; nil once M is solved
	of         *Clusters
	indicators int // columns of indicators behind the messages
}

// NewDictionary measures the messages of models on the support nodes and takes their means over clusters, weighted
// by w_j (N). onT holds the models' tables of T. The messages of several models stand side by side, each scaled to
// unit weighted RMS, so that one M serves all. Behind messages of unit size, the clusters' indicators stand with a
// weight; 0: they do not. They draw each node to its own cluster, also in what the models' messages do not say.
func NewDictionary(models []infer.Model, onT []*infer.Tables, s Support, c *Clusters, weights []float32,
	indicators float32) *Dictionary {
	d := &Dictionary{of: c}
	for k, m := range models {
		d.Parts = append(d.Parts, MessagesOf(m, onT[k], s))
	}
	d.nodes = sideBySide(d.Parts, onT, weights, indicators > 0)
	if indicators > 0 {
		d.indicators = len(c.Size)
		own := graph.NewDense(d.nodes.Rows, d.indicators)
		for i, k := range c.Of {
			if k >= 0 {
				own.Row(i)[k] = indicators
			}
		}
		d.nodes = graph.Beside(d.nodes, own)
	}
	d.Clusters = ClusterMeans(d.nodes, c, weights)
	return d
}

// Messages returns the mean messages of each cluster without indicators: arrivals have none.
func (d *Dictionary) Messages() *graph.Dense {
	return d.Clusters.Columns(0, d.Clusters.Cols-d.indicators)
}

// Solve finds M (N×N'), at most k entries a row: row j is the non-negative combination of the clusters' messages
// nearest to j's own, min ‖t_j − m·t'‖². Where nodes are of several types, it is of clusters of its own type. The
// messages of T's nodes are dropped, so that M can be solved once.
func (d *Dictionary) Solve(k int) *graph.CSR {
	defer func() { d.nodes = nil }()
	if d.of == nil || d.of.types == nil {
		return nnls.Rows(d.Clusters, d.nodes, k)
	}
	var entries []graph.Edge
	nodes, clusters := d.of.blocks()
	for kind := range nodes {
		rows := nnls.Rows(d.Clusters.Take(clusters[kind]), d.nodes.Take(nodes[kind]), k)
		for j := range rows.Rows {
			cols, vals := rows.Row(j)
			for p, c := range cols {
				entries = append(entries, graph.Edge{Row: nodes[kind][j], Col: clusters[kind][c], Val: vals[p]})
			}
		}
	}
	return graph.NewCSR(d.nodes.Rows, d.Clusters.Rows, entries)
}

// sideBySide returns the messages of models, N×p; those of several, and any that are to be scaled, have unit RMS.
func sideBySide(parts []growth.Messages, onT []*infer.Tables, weights []float32, scaled bool) *graph.Dense {
	blocks := make([]*graph.Dense, len(parts))
	for k := range parts {
		blocks[k] = parts[k].Of(onT[k])
		if rms := weightedRMS(blocks[k], weights); (scaled || len(parts) > 1) && rms > 0 {
			parts[k].Times(float32(1 / rms))
			blocks[k] = parts[k].Of(onT[k])
		}
	}
	return graph.Beside(blocks...)
}

func weightedRMS(rows *graph.Dense, weights []float32) float64 {
	sum, total := 0.0, 0.0
	for j := range rows.Rows {
		sum += float64(weights[j]) * squaredLength(rows.Row(j))
		total += float64(weights[j])
	}
	return math.Sqrt(sum / total)
}
