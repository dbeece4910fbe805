package explain

import (
	"cmp"
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
)

// change is the part to remove from the explained arrival; −1: nothing.
type change struct{ feature, neighbour, arrival int32 }

// remove makes the second passes: the arrival without each of its largest terms.
func (x *Explainer) remove(e *Explanation, b *attach.Batch, rows [][]attach.Row, i int) {
	var terms []*Term
	changes := []change{{-1, -1, -1}}
	add := func(t *Term, c change) { terms, changes = append(terms, t), append(changes, c) }
	for at := range e.Features {
		if at == MostFeaturesRemoved {
			e.NotRemoved += len(e.Features) - at
			break
		}
		add(&e.Features[at], change{int32(e.Features[at].At), -1, -1})
	}
	for at, near := range e.removable(rows[i]) {
		if at >= MostNeighboursRemoved {
			e.NotRemoved++
		} else if near.batch {
			add(near.term, change{-1, -1, int32(near.term.At)})
		} else {
			add(near.term, change{-1, int32(near.term.At), -1})
		}
	}
	logits := newRemoval(x, b, rows, i).run(changes)
	whole := figure(logits[0], e.Class, e.RunnerUp)
	for k, t := range terms {
		t.Without, t.Removed = whole.less(figure(logits[k+1], e.Class, e.RunnerUp)), true
	}
}

// near is a neighbour that counts: known, or in the batch.
type near struct {
	term  *Term
	batch bool
}

// removable are the neighbours that count, largest share of the margin first.
func (e *Explanation) removable(rows []attach.Row) []near {
	var out []near
	for at := range e.Neighbours {
		if rows[e.Neighbours[at].At].Known {
			out = append(out, near{&e.Neighbours[at], false})
		}
	}
	for at := range e.Batch {
		out = append(out, near{&e.Batch[at], true})
	}
	slices.SortStableFunc(out, func(s, t near) int {
		return cmp.Compare(math.Abs(t.term.Share.Margin), math.Abs(s.term.Share.Margin))
	})
	return out
}

// removal makes batches of an arrival with something removed, together with the arrivals that its prediction depends
// on: the connected ones for frozen models, the whole batch for joint ones.
type removal struct {
	model   infer.Deployment       // takes features that were divided by their norm
	expert  *perceptron.Expert     // of the same features; nil: there is none
	project *preprocess.Projection // gives that norm
	joint   bool
	b       *attach.Batch
	rows    [][]attach.Row
	nodes   int // of S
	members []int32
	index   map[int32]int32
	at      int32
}

func newRemoval(x *Explainer, b *attach.Batch, rows [][]attach.Row, i int) *removal {
	r := &removal{joint: x.model == nil, b: b, rows: rows, nodes: x.nodes, index: map[int32]int32{}}
	r.model, r.project = infer.HoldNorm(x.predictor.Model)
	r.expert = x.predictor.Expert.HoldNorm()
	if r.joint {
		for k := range b.Len() {
			r.join(int32(k))
		}
	} else {
		r.join(int32(i))
		for k := 0; b.Adj != nil && k < len(r.members); k++ {
			cols, _ := b.Adj.Row(int(r.members[k]))
			for _, j := range cols {
				r.join(j)
			}
		}
	}
	r.at = r.index[int32(i)]
	return r
}

func (r *removal) join(i int32) {
	if _, in := r.index[i]; !in {
		r.index[i] = int32(len(r.members))
		r.members = append(r.members, i)
	}
}

// together is about how many arrivals are predicted at once.
const together = 1024

// run returns the arrival's logits after each change.
func (r *removal) run(changes []change) [][]float32 {
	var out [][]float32
	for len(changes) > 0 {
		n := 1 // joint arrivals change one another: one change at a time
		if !r.joint {
			n = min(len(changes), max(1, together/len(r.members)))
		}
		b := r.batch(changes[:n])
		logits := r.model.Logits(b)
		r.expert.Add(logits, b)
		for k := range n {
			out = append(out, logits.Row(k*len(r.members)+int(r.at)))
		}
		changes = changes[n:]
	}
	return out
}

// batch has the members once for each change, without edges between one time and another.
func (r *removal) batch(changes []change) *attach.Batch {
	x := &graph.CSR{Cols: r.b.X.Cols(), RowPtr: []int{0}, Val: []float32{}}
	adj := &graph.CSR{RowPtr: []int{0}}
	var rows [][]attach.Row
	for time, c := range changes {
		for k, i := range r.members {
			of := change{-1, -1, -1}
			if int32(k) == r.at {
				of = c
			}
			r.features(x, int(i), of.feature)
			rows = append(rows, r.neighbours(int(i), of.neighbour))
			if r.b.Adj != nil {
				r.among(adj, int32(k), c.arrival, int32(time*len(r.members)))
			}
		}
	}
	x.Rows, adj.Rows, adj.Cols = len(rows), len(rows), len(rows)
	out := &attach.Batch{X: graph.Features{Sparse: x}}
	out.Attach(rows, r.model.Nodes())
	if r.b.Adj != nil {
		out.Adj = adj
	}
	return out
}

// features adds a row of features over its norm, leaving out one.
func (r *removal) features(x *graph.CSR, i int, without int32) {
	p := place{b: r.b, project: r.project}
	norm := p.divisor(i)
	cols, vals := notZero(r.b, i)
	for k, c := range cols {
		if c != without {
			x.ColIdx, x.Val = append(x.ColIdx, c), append(x.Val, float32(float64(vals[k])/norm))
		}
	}
	x.RowPtr = append(x.RowPtr, len(x.ColIdx))
}

// neighbours are the rows of an arrival, leaving out one.
func (r *removal) neighbours(i int, without int32) []attach.Row {
	if without < 0 {
		return r.rows[i]
	}
	return attach.Without(r.rows[i], int(without), r.nodes)
}

// among adds a member's row of ã, without its edge to the arrival that is removed, or from it.
func (r *removal) among(adj *graph.CSR, k, without, begin int32) {
	cols, weights := r.b.Adj.Row(int(r.members[k]))
	for p, j := range cols {
		gone := k == r.at && j == without || r.members[k] == without && j == r.members[r.at]
		if !gone {
			adj.ColIdx = append(adj.ColIdx, begin+r.index[j])
			if weights != nil {
				adj.Val = append(adj.Val, weights[p])
			}
		}
	}
	adj.RowPtr = append(adj.RowPtr, len(adj.ColIdx))
}
