package explain

import (
	"fmt"
	"math"
	"sync"

	"rivulet/infer/attach"
)

// Kinds of [Reason].
const (
	ReasonFeature   = "feature"
	ReasonNeighbour = "neighbour" // a neighbour with a row of M
	ReasonArrival   = "arrival"   // another arrival of a graph batch
)

// Reason is one of the largest terms of a logit.
type Reason struct {
	Kind  string
	At    int // as in [Term]
	Share Figure
}

var sharings = sync.Pool{New: func() any { return new(decomposition) }}

// Strongest appends to dst the n largest shares of arrival i of a batch: of its features, neighbours and arrivals of
// the batch, largest share of the margin first. class is the published one; the other arguments are as in Explain. It
// makes no second pass, and returns the class that the margin is against, −1 if there is no other. A model without
// shares is a programming error and panics.
func (x *Explainer) Strongest(dst []Reason, n int, b *attach.Batch, rows [][]attach.Row, i, class int,
	logits []float32) ([]Reason, int) {
	if x.model == nil {
		panic(fmt.Sprintf("explain: %T has no shares", x.predictor.Model))
	}
	s := sharings.Get().(*decomposition)
	defer sharings.Put(s)
	other := runnerUp(logits, class)
	s.begin(x, b, rows, i, class, other)
	s.place.b, s.place.rows = nil, nil // the pool keeps no batch
	of := strongest{list: dst, from: len(dst), n: n}
	for at := range s.cols {
		of.add(ReasonFeature, int(s.cols[at]), s.feature(at))
	}
	for at := range rows[i] {
		of.add(ReasonNeighbour, at, s.neighbour(&rows[i][at]))
	}
	if b.Adj != nil {
		among, _ := b.Adj.Row(i)
		for at, j := range among {
			of.add(ReasonArrival, int(j), s.arrival(at))
		}
	}
	return of.list, other
}

// strongest are the n largest of the reasons that were added, in the list from a place on.
type strongest struct {
	list    []Reason
	from, n int
	least   float64 // the smallest share of n reasons, 0 while there are fewer
}

// add puts a reason in its place. A share of 0 is no reason, nor is one that float32 cannot hold.
func (l *strongest) add(kind string, at int, share Figure) {
	size := math.Abs(share.Margin)
	if !(size > l.least) || l.n <= 0 || max(size, math.Abs(share.Class)) > math.MaxFloat32 {
		return
	}
	if len(l.list)-l.from < l.n {
		l.list = append(l.list, Reason{})
	}
	to := len(l.list) - 1
	for ; to > l.from && size > math.Abs(l.list[to-1].Share.Margin); to-- {
		l.list[to] = l.list[to-1]
	}
	l.list[to] = Reason{kind, at, share}
	if len(l.list)-l.from == l.n {
		l.least = math.Abs(l.list[len(l.list)-1].Share.Margin)
	}
}
