package target

import (
	"fmt"
	"slices"

	"rivulet/graph"
)

// links is the task of the candidates that a node will be linked to. A model's output is an embedding.
type links struct{}

func (links) name() string              { return "links" }
func (links) outputs() string           { return "coordinates" }
func (links) group() string             { return "links" }
func (links) truth() Truth              { return Neighbours }
func (links) fitted() Fit               { return NoFit }
func (links) regression() bool          { return true }
func (links) class(row []float32) int   { return graph.ArgMax(row) }
func (links) groups(present, _ int) int { return present }

// There is one unit for all coordinates, as scores are sums over them.
func (links) units(targets *graph.Dense) []float64 {
	return slices.Repeat([]float64{UnitsOf(targets).Length()}, targets.Cols)
}

func (links) loss(logits, targets *graph.Dense, share []float32) float64 {
	return squaredLoss(logits, targets, share)
}

func (links) probabilities(dst, logits []float32, _ float32, _ []float32) { copy(dst, logits) }

// The candidates with the highest scores are looked up for a whole batch.
func (links) decode(a *Answer, _ []float32, _ []float64) { *a = Answer{Class: -1} }

func (links) events([]float32, int32, []float32, func(float32, bool)) {}
func (links) right([]float32, int32, []float32) float64               { return 0 }
func (links) shares([]float64, []*graph.Dense) float64                { return 0 }

// Each neighbour that was held out is ranked among all candidates that are no neighbours of the node, neither known nor
// held out; one with an equal score counts half (the filtered setting of Bordes et al., "Translating Embeddings for
// Modeling Multi-relational Data", 2013).
func (links) metrics() []Metric {
	return []Metric{
		// The number of neighbours that were held out, on which the scores rest.
		{Name: "held_out", Title: "links", Show: Plain, Count: true},
		// The mean of 1/rank over all neighbours that were held out.
		{Name: "mrr", Title: "MRR %", Long: "MRR (percent)", Behind: "MRR", Show: OfNodes, Stored: true},
		// The shares of these neighbours with a rank of at most 1, 10 and 50.
		{Name: "hits_1", Title: "hits@1 %", Show: Plain},
		{Name: "hits_10", Title: "hits@10 %", Show: Plain},
		{Name: "hits_50", Title: "hits@50 %", Show: Plain},
		// The MRR of two scores that need no model: the degree of the candidate in T, and the sum of 1/log(degree) over the
		// neighbours that the node and the candidate share (Adamic and Adar, 2003).
		{Name: "popularity_mrr", Title: "popularity MRR %", Show: Plain},
		{Name: "adamic_adar_mrr", Title: "Adamic-Adar MRR %", Show: Plain},
	}
}

// Queries are neighbours of the nodes of a set that were held out, to be found among the candidates.
type Queries struct {
	// Vectors are the embeddings of the candidates, a row each.
	Vectors *graph.Dense
	// Held and Known are the rows of the candidates that are neighbours of each node of the set: Held were held out. Both
	// ascend.
	Held, Known [][]int32
	// Baselines returns the MRR of popularity and of Adamic and Adar, in percent.
	Baselines func() (popularity, adamicAdar float64)
}

// score judges logits, which are embeddings.
func (t links) score(a *Answers) []Score {
	embeddings, vectors := graph.Stack(a.Logits...), a.Queries.Vectors.Transposed()
	r := a.Queries.Rank(func(i int, scores []float32) {
		clear(scores)
		for k, v := range embeddings.Row(i) {
			graph.Axpy(scores, v, vectors.Row(k))
		}
	})
	popularity, adamicAdar := 0.0, 0.0
	if !a.Brief {
		popularity, adamicAdar = a.Queries.Baselines()
	}
	return valued(t.metrics(), float64(r.Count), r.MRR, r.Hits[0], r.Hits[1], r.Hits[2], popularity, adamicAdar)
}

// Ranks are the figures of the ranks of neighbours that were held out, in percent.
type Ranks struct {
	Count int
	MRR   float64
	Hits  [3]float64 // shares of ranks up to each of hits
}

var hits = [3]float64{1, 10, 50}

// Rank ranks the neighbours that were held out by the scores of all candidates for a node.
func (q *Queries) Rank(of func(node int, scores []float32)) (out Ranks) {
	ranks := make([][]float64, len(q.Held))
	graph.ParallelRows(len(q.Held), len(q.Held)*len(q.Vectors.Data), func(lo, hi int) {
		scores := make([]float32, q.Vectors.Rows)
		for i := lo; i < hi; i++ {
			if len(q.Held[i]) > 0 {
				of(i, scores)
				ranks[i] = q.ranks(i, scores)
			}
		}
	})
	for _, of := range ranks {
		for _, rank := range of {
			out.Count++
			out.MRR += 100 / rank
			for k, at := range hits {
				if rank <= at {
					out.Hits[k] += 100
				}
			}
		}
	}
	n := float64(max(1, out.Count))
	out.MRR /= n
	for k := range hits {
		out.Hits[k] /= n
	}
	return out
}

// ranks returns the ranks of a node's neighbours that were held out.
func (q *Queries) ranks(node int, scores []float32) []float64 {
	held, known := q.Held[node], q.Known[node]
	out := make([]float64, len(held))
	for k := range out {
		out[k] = 1
	}
	h, n := 0, 0
	for c, s := range scores {
		switch {
		case h < len(held) && held[h] == int32(c):
			h++
			continue
		case n < len(known) && known[n] == int32(c):
			n++
			continue
		}
		for k, of := range held {
			switch t := scores[of]; {
			case s > t:
				out[k]++
			case s == t:
				out[k] += 0.5
			}
		}
	}
	return out
}

func (links) summary(s *Summary) string {
	count := int(Find(s.Scores, "held_out").Mean)
	p := func(of []Score, metric string) string { return percentOf(count, Find(of, metric).Mean) }
	return fmt.Sprintf("a tenth of the edges of test nodes was held out, %d links: MRR %s, hits@10 %s on %d synthetic "+
		"nodes; %s, %s and %s; by popularity MRR %s, by common neighbours (Adamic-Adar) %s", count, p(s.Scores, "mrr"),
		p(s.Scores, "hits_10"), s.Nodes, s.Joined, p(s.Whole, "mrr"), p(s.Whole, "hits_10"),
		p(s.Scores, "popularity_mrr"), p(s.Scores, "adamic_adar_mrr"))
}

// percentOf writes a score with as many decimals as its number of links can tell apart.
func percentOf(count int, score float64) string {
	decimals := 0
	switch {
	case count >= 1000:
		decimals = 2
	case count >= 100:
		decimals = 1
	}
	return fmt.Sprintf("%.*f%%", decimals, score)
}
