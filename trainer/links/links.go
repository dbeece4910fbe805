// Package links prepares a task of links: which nodes does a node link to, among candidates? It makes a task of numbers
// of it, whose outputs are the coordinates of an embedding.
//
// A is the matrix of the edges from T's nodes (rows) to the candidates (columns). With its r first singular vectors V,
// candidates×r, AVVᵀ is the matrix of rank r that is nearest to it. A node's target is its row of AV, and the embedding
// of a candidate is its row of V: the dot product of the two is how strongly the nearest matrix links them. A model
// that predicts the row of AV of an arrival therefore scores all candidates (Cremonesi, Koren and Turrin, "Performance
// of Recommender Algorithms on Top-N Recommendation Tasks", 2010, whose PureSVD has no model and adds up the rows of V
// of the known neighbours).
//
// An edge is 1 in A, whatever it weighs: the question is whether there is one (the preference of Hu, Koren and
// Volinsky, "Collaborative Filtering for Implicit Feedback Datasets", 2008). Its weight says how much a neighbour
// counts in the features and in the vectors that an arrival reads.
//
//	links.go     Prepare: candidates, edges that are held out, targets
//	structure.go the vectors of known neighbours, which count beside the features
//	queries.go   the edges that were held out, as the scores read them; two scores without a model
//	holdout.go   edges that are held out to compare versions
package links

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/trainer/features"
)

// Rank is the number of coordinates of an embedding, unless there are fewer candidates. On Amazon Photo the MRR of
// features alone is 17.9, 20.8 and 24.6% with 32, 64 and 128 coordinates.
const Rank = 128

// NodesOf returns the size of S for a T of n nodes. A message has as many coordinates as an embedding here, and needs
// more synthetic nodes than a message with one coordinate for each of a few classes.
func NodesOf(n int) int { return min(mostNodes, max(1, n/5)) }

// Entries returns the most entries of a row of M, given those of another task: a task of links has twice as many.
func (p *Problem) Entries(others int) int {
	if p == nil {
		return others
	}
	return 2 * others
}

// mostNodes bounds the time of solving rows of M, which grows by the square of the size of S.
const mostNodes = 2000

// HeldOut is the share of the edges between arrivals and candidates that are held out to measure.
const HeldOut = 0.1

// Problem is a task of links: its candidates, and the edges that were held out.
type Problem struct {
	Candidates []int32      // nodes of T, ascending
	Vectors    *graph.Dense // their embeddings, a row each
	Weights    []float32    // of T's nodes in a fit: 1, or 0 of a node without a candidate among its neighbours

	structures map[string]*structure // by model; those that are chosen

	place []int32    // of each node of the data set among the candidates; -1: it is none
	adj   *graph.CSR // of T
	rest  *graph.CSR // of the data set, without the edges that are held out
	held  [][]int32  // candidates, by place, whose edges to each node of the data set are held out
}

// Prepare holds out edges of validation and test nodes, and returns the data with targets of T's nodes for a model. The
// nodes of T come first in the data ([dataset.Dataset.OriginalFirst]). A node of T without a candidate among its
// neighbours has no target, and no weight in a fit. rng draws the edges that are held out, start where the search for
// singular vectors begins.
func Prepare(d *dataset.Dataset, rng, start *rand.Rand) (*Problem, *dataset.Dataset, error) {
	if err := d.Facts().Check(); err != nil {
		return nil, nil, err
	}
	n := len(d.Train) + len(d.Unlabelled)
	p := &Problem{place: make([]int32, d.Nodes())}
	for i := range p.place {
		if p.place[i] = -1; i < n && (d.Candidates == nil || d.Candidates[i]) {
			p.place[i] = int32(len(p.Candidates))
			p.Candidates = append(p.Candidates, int32(i))
		}
	}
	if len(p.Candidates) == 0 {
		return nil, nil, errors.New("no candidate is a training node")
	}
	if err := p.holdOut(d, rng); err != nil {
		return nil, nil, err
	}
	out := *d
	out.Adj = p.rest
	nodes := make([]int32, n)
	for i := range nodes {
		nodes[i] = int32(i)
	}
	p.adj = out.Adj.Submatrix(nodes, leading(d.Nodes(), n), n)
	return p, &out, p.setTargets(&out, n, start)
}

// IDs returns the ids of the candidates, given those of T's nodes.
func (p *Problem) IDs(nodes []string) []string {
	out := make([]string, len(p.Candidates))
	for c, i := range p.Candidates {
		out[c] = nodes[i]
	}
	return out
}

// leading numbers the first n of all nodes from 0; -1: the others.
func leading(all, n int) []int32 {
	index := make([]int32, all)
	for i := range index {
		if index[i] = int32(i); i >= n {
			index[i] = -1
		}
	}
	return index
}

// holdOut draws the edges that are held out, and takes both of their directions out of the graph.
func (p *Problem) holdOut(d *dataset.Dataset, rng *rand.Rand) error {
	p.held = make([][]int32, d.Nodes())
	type edge struct{ from, to int32 }
	gone := map[edge]bool{}
	for _, role := range []struct {
		name  string
		nodes []int32
	}{{"validation", d.Validation}, {"test", d.Test}} {
		edges, held := 0, 0
		for _, i := range role.nodes {
			cols, _ := d.Adj.Row(int(i))
			for _, c := range cols {
				if p.place[c] < 0 {
					continue
				}
				if edges++; rng.Float64() < HeldOut {
					held++
					p.held[i] = append(p.held[i], p.place[c])
					gone[edge{i, c}], gone[edge{c, i}] = true, true
				}
			}
		}
		if held == 0 && len(role.nodes) > 0 {
			return fmt.Errorf("%d edges lead from %s nodes to candidates, and a tenth of them is held out to measure: want more",
				edges, role.name)
		}
	}
	p.rest = &graph.CSR{Rows: d.Nodes(), Cols: d.Nodes(), RowPtr: []int{0}}
	for i := range d.Nodes() {
		cols, weights := d.Adj.Row(i)
		for k, c := range cols {
			if gone[edge{int32(i), c}] {
				continue
			}
			p.rest.ColIdx = append(p.rest.ColIdx, c)
			if weights != nil {
				p.rest.Val = append(p.rest.Val, weights[k])
			}
		}
		p.rest.RowPtr = append(p.rest.RowPtr, len(p.rest.ColIdx))
	}
	return nil
}

// passes of subspace iteration: more do not change what can be measured.
const passes = 4

// setTargets factors A and sets the targets of T's nodes.
func (p *Problem) setTargets(d *dataset.Dataset, n int, rng *rand.Rand) error {
	a := p.adj.Submatrix(leading(n, n), p.place[:n], len(p.Candidates))
	a.Val = nil
	back := a.Transpose()
	rank := min(Rank, len(p.Candidates))
	start := graph.NewDense(len(p.Candidates), min(rank+10, len(p.Candidates)))
	for k := range start.Data {
		start.Data[k] = float32(rng.NormFloat64())
	}
	forward := func(v *graph.Dense) *graph.Dense { return graph.Mul(a, v) }
	p.Vectors, _ = features.Principal(forward, func(y *graph.Dense) *graph.Dense { return graph.Mul(back, y) }, start,
		passes, rank)
	d.Targets, d.Labels, d.Classes = graph.NewDense(d.Nodes(), p.Vectors.Cols), make([]int32, d.Nodes()),
		dataset.Decimals(p.Vectors.Cols)
	copy(d.Targets.Data, forward(p.Vectors).Data)
	p.Weights = make([]float32, n)
	for i := range p.Weights {
		p.Weights[i] = float32(min(1, a.RowLen(i)))
	}
	if a.NNZ() == 0 {
		return errors.New("no training node has a candidate among its neighbours")
	}
	d.Task = target.Links
	return nil
}
