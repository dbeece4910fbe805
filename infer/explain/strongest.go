package explain

import (
	"math"

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
	Kind   string
	At     int    // as in [Term]
	Figure Figure // Term.Share, or Term.Without ([Explainer.Strongest])
}

// tried is the number of features, and how many neighbours and arrivals of the batch, Strongest removes for n
// reasons. With 8 it finds nine of ten reasons that it finds by removing everything (Cora, three reasons, gcn, sage,
// appnp, cheby).
func tried(n int) int { return max(n, 8) }

// Strongest appends to dst the n largest terms of arrival i of a batch, largest figure of the margin first. class is
// the published one; the other arguments are as in Explain. It returns the class that the margin is against, −1 if
// there is no other. The figures are shares of a linear model that answers alone; any other, also a linear one beside a
// small model of own features, answers up to 17 times again, and if it is attached jointly with the whole batch each
// time.
func (x *Explainer) Strongest(dst []Reason, n int, b *attach.Batch, rows [][]attach.Row, i, class int,
	logits []float32) ([]Reason, int) {
	other := runnerUp(logits, class)
	of := strongest{list: dst, from: len(dst), n: n}
	if x.sizes != nil {
		e := Explanation{Class: class, RunnerUp: other}
		e.list(x, b, rows, i)
		x.remove(&e, b, rows, i, tried(n), tried(n))
		kinds := [...]string{ReasonFeature, ReasonNeighbour, ReasonArrival}
		for kind, terms := range [...][]Term{e.Features, e.Neighbours, e.Batch} {
			for k := range terms {
				of.add(kinds[kind], terms[k].At, terms[k].Without)
			}
		}
		return of.list, other
	}
	s := sharesPool.Get().(*shares)
	defer sharesPool.Put(s)
	defer s.end() // before that
	s.begin(x, b, rows, i, class, other)
	for at, col := range s.features() {
		of.add(ReasonFeature, int(col), s.feature(at))
	}
	for at := range s.place.members[0].rows {
		of.add(ReasonNeighbour, at, s.neighbour(&s.place.members[0].rows[at]))
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
	least   float64 // the smallest figure of n reasons, 0 while there are fewer
}

// add puts a reason in its place. A figure of 0 is no reason, nor is one that float32 cannot hold.
func (l *strongest) add(kind string, at int, of Figure) {
	size := math.Abs(of.Margin)
	if !(size > l.least) || l.n <= 0 || max(size, math.Abs(of.Class)) > math.MaxFloat32 {
		return
	}
	if len(l.list)-l.from < l.n {
		l.list = append(l.list, Reason{})
	}
	to := len(l.list) - 1
	for ; to > l.from && size > math.Abs(l.list[to-1].Figure.Margin); to-- {
		l.list[to] = l.list[to-1]
	}
	l.list[to] = Reason{kind, at, of}
	if len(l.list)-l.from == l.n {
		l.least = math.Abs(l.list[len(l.list)-1].Figure.Margin)
	}
}
