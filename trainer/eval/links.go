package eval

import (
	"fmt"

	"rivulet/graph"
)

// Links are the scores of a task of links, in percent. Each neighbour that was held out is ranked among all candidates
// that are no neighbours of the node, neither known nor held out; one with an equal score counts half (the filtered
// setting of Bordes et al., "Translating Embeddings for Modeling Multi-relational Data", 2013).
type Links struct {
	// Count is the number of neighbours that were held out, on which the scores rest.
	Count int `json:"held_out"`
	// MRR is the mean of 1/rank over all neighbours that were held out.
	MRR Spread `json:"mrr"`
	// Hits1, Hits10 and Hits50 are the shares of these neighbours with a rank of at most 1, 10 and 50.
	Hits1  Spread `json:"hits_1"`
	Hits10 Spread `json:"hits_10"`
	Hits50 Spread `json:"hits_50"`
	// Popularity and AdamicAdar are the MRR of two scores that need no model: the degree of the candidate in T, and the
	// sum of 1/log(degree) over the neighbours that the node and the candidate share (Adamic and Adar, 2003).
	Popularity Spread `json:"popularity_mrr"`
	AdamicAdar Spread `json:"adamic_adar_mrr"`
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

// Links scores an answer, whose logits are embeddings.
func (a *Answer) Links(s *Set) *Links {
	embeddings, vectors := graph.Stack(a.Logits...), s.Queries.Vectors.Transposed()
	return s.Queries.Score(func(i int, scores []float32) {
		clear(scores)
		for k, v := range embeddings.Row(i) {
			graph.Axpy(scores, v, vectors.Row(k))
		}
	})
}

// Score ranks the neighbours that were held out by the scores of all candidates for a node.
func (q *Queries) Score(of func(node int, scores []float32)) *Links {
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
	out := &Links{}
	for _, of := range ranks {
		for _, rank := range of {
			out.Count++
			out.MRR.Mean += 100 / rank
			for _, hits := range []struct {
				of *Spread
				at float64
			}{{&out.Hits1, 1}, {&out.Hits10, 10}, {&out.Hits50, 50}} {
				if rank <= hits.at {
					hits.of.Mean += 100
				}
			}
		}
	}
	for _, of := range []*Spread{&out.MRR, &out.Hits1, &out.Hits10, &out.Hits50} {
		of.Mean /= float64(max(1, out.Count))
	}
	return out
}

// percent writes a score with as many decimals as its number of links can tell apart.
func (l *Links) percent(score float64) string {
	decimals := 0
	switch {
	case l.Count >= 1000:
		decimals = 2
	case l.Count >= 100:
		decimals = 1
	}
	return fmt.Sprintf("%.*f%%", decimals, score)
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

// spreads are the scores by name, in the order of tables.
func (l *Links) spreads() []*Spread {
	return []*Spread{&l.MRR, &l.Hits1, &l.Hits10, &l.Hits50, &l.Popularity, &l.AdamicAdar}
}

// linkScores are the names of [Links.spreads] in tables of text and of CSV.
var linkScores = [][2]string{
	{"MRR %", "mrr"}, {"hits@1 %", "hits_1"}, {"hits@10 %", "hits_10"}, {"hits@50 %", "hits_50"},
	{"popularity MRR %", "popularity_mrr"}, {"Adamic-Adar MRR %", "adamic_adar_mrr"}}

// linkColumns are the columns of tables for a task of links.
func linkColumns() (out []column) {
	out = append(out, column{"links", func(l *line) string { return fmt.Sprint(l.node.Links.Count) }})
	for k, name := range linkScores {
		out = append(out, column{name[0], func(l *line) string {
			if k == 0 {
				return spread(*l.node.Links.spreads()[k], len(l.node.Seeds))
			}
			return fmt.Sprintf("%.1f", l.node.Links.spreads()[k].Mean)
		}})
	}
	return out
}
