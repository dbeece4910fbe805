package explain

import (
	"cmp"
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/infer/attach"
)

// change is the part to remove from the explained arrival; −1: nothing.
type change struct{ feature, neighbour, arrival int32 }

// remove answers again without each of the largest terms, and sorts the terms: by shares, else by what was lost
// without them, with those that were not removed behind. It removes at most so many features, and at most so many
// neighbours and arrivals of the batch together.
func (x *Explainer) remove(e *Explanation, b *attach.Batch, rows [][]attach.Row, i, features, neighbours int) {
	e.order()
	var terms []*Term
	changes := []change{{-1, -1, -1}}
	add := func(t *Term, c change) { terms, changes = append(terms, t), append(changes, c) }
	for at := range e.Features {
		if at == features {
			e.NotRemoved += len(e.Features) - at
			break
		}
		add(&e.Features[at], change{int32(e.Features[at].At), -1, -1})
	}
	for at, near := range e.removable() {
		if at >= neighbours {
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
	if e.Shares {
		return
	}
	for _, terms := range [][]Term{e.Features, e.Neighbours, e.Batch} {
		for k := range terms {
			if terms[k].size = -1; terms[k].Removed {
				terms[k].size = math.Abs(terms[k].Without.Margin)
			}
		}
	}
	e.order()
}

// near is a neighbour that counts: known, or in the batch.
type near struct {
	term  *Term
	batch bool
}

// removable are the neighbours that count, largest first.
func (e *Explanation) removable() []near {
	var out []near
	for at := range e.Neighbours {
		if e.Neighbours[at].known {
			out = append(out, near{&e.Neighbours[at], false})
		}
	}
	for at := range e.Batch {
		out = append(out, near{&e.Batch[at], true})
	}
	slices.SortStableFunc(out, func(s, t near) int { return cmp.Compare(t.term.size, s.term.size) })
	return out
}

// removal makes batches of an arrival with something removed, together with the arrivals that its answer depends on.
type removal struct {
	*Explainer
	b       *attach.Batch
	rows    [][]attach.Row
	members []int32
	index   map[int32]int32
	at      int32
}

func newRemoval(x *Explainer, b *attach.Batch, rows [][]attach.Row, i int) *removal {
	r := &removal{Explainer: x, b: b, rows: rows, index: map[int32]int32{}}
	if x.reach < 0 {
		for k := range b.Len() {
			r.join(int32(k))
		}
	} else {
		r.join(int32(i))
		from := 0
		for far := 0; b.Adj != nil && far <= x.reach; far++ { // one further: an arrival's degree counts all its neighbours
			to := len(r.members)
			for _, k := range r.members[from:to] {
				cols, _ := b.Adj.Row(int(k))
				for _, j := range cols {
					r.join(j)
				}
			}
			from = to
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
		n := 1 // where all arrivals of a batch change one another: one change at a time
		if r.reach >= 0 {
			n = min(len(changes), max(1, together/len(r.members)))
		}
		b := r.batch(changes[:n])
		logits := r.held.Logits(b)
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
	new(attach.Attacher).Attach(out, rows, &r.slots, r.nodes)
	if r.b.Adj != nil {
		out.Adj = adj
	}
	return out
}

// features adds a row of features over its norm, leaving out one.
func (r *removal) features(x *graph.CSR, i int, without int32) {
	norm := divisor(r.project, r.b, i)
	r.b.X.Each(i, func(c int, v float32) {
		if v != 0 && int32(c) != without {
			x.ColIdx, x.Val = append(x.ColIdx, int32(c)), append(x.Val, float32(float64(v)/norm))
		}
	})
	x.RowPtr = append(x.RowPtr, len(x.ColIdx))
}

// neighbours are the rows of an arrival, leaving out one.
func (r *removal) neighbours(i int, without int32) []attach.Row {
	if without < 0 {
		return r.rows[i]
	}
	return slices.Delete(slices.Clone(r.rows[i]), int(without), int(without)+1)
}

// among adds a member's row of ã, without its edge to the arrival that is removed, or from it.
func (r *removal) among(adj *graph.CSR, k, without, begin int32) {
	cols, weights := r.b.Adj.Row(int(r.members[k]))
	for p, j := range cols {
		_, member := r.index[j]
		gone := k == r.at && j == without || r.members[k] == without && j == r.members[r.at]
		if member && !gone {
			adj.ColIdx = append(adj.ColIdx, begin+r.index[j])
			if weights != nil {
				adj.Val = append(adj.Val, weights[p])
			}
		}
	}
	adj.RowPtr = append(adj.RowPtr, len(adj.ColIdx))
}
