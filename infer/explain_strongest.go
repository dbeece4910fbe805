package infer

import (
	"fmt"
	"math"
	"sync"
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

// Shares reports whether the predictor's model has shares: every frozen one does.
func (p *Predictor) Shares() bool {
	_, ok := p.Model.(explainable)
	return ok
}

var sharings = sync.Pool{New: func() any { return new(sharing) }}

// Strongest appends to dst the n largest shares, of features, neighbours and arrivals of the batch, of arrival i of
// a batch, largest share of the margin first. class is the published one; the other arguments are those of Explain.
// It makes no second pass, and returns the class that the margin is against, −1 if there is no other. A model
// without shares is a programming error and panics.
func (p *Predictor) Strongest(dst []Reason, n int, b *Batch, rows [][]Row, i, class int, logits []float32) ([]Reason, int) {
	model, ok := p.Model.(explainable)
	if !ok {
		panic(fmt.Sprintf("infer: %T has no shares", p.Model))
	}
	s := sharings.Get().(*sharing)
	defer sharings.Put(s)
	other := runnerUp(logits, class)
	s.begin(model, b, rows, i, class, other)
	s.place.b, s.place.rows = nil, nil // the pool keeps no batch
	from := len(dst)
	for at := range s.cols {
		dst = insert(dst, from, n, Reason{ReasonFeature, int(s.cols[at]), s.feature(at)})
	}
	for at := range rows[i] {
		dst = insert(dst, from, n, Reason{ReasonNeighbour, at, s.neighbour(&rows[i][at])})
	}
	if b.Adj != nil {
		among, _ := b.Adj.Row(i)
		for at, j := range among {
			dst = insert(dst, from, n, Reason{ReasonArrival, int(j), s.arrival(at)})
		}
	}
	return dst, other
}

// insert puts a reason in its place among the n largest from a place on. A share of 0 is no
// reason, nor is one that float32 cannot hold.
func insert(dst []Reason, from, n int, r Reason) []Reason {
	size := math.Abs(r.Share.Margin)
	if !(size > 0 && max(size, math.Abs(r.Share.Class)) <= math.MaxFloat32) || n <= 0 || len(dst)-from == n && !(size > math.Abs(dst[len(dst)-1].Share.Margin)) {
		return dst
	}
	if len(dst)-from < n {
		dst = append(dst, r)
	}
	at := len(dst) - 1
	for ; at > from && size > math.Abs(dst[at-1].Share.Margin); at-- {
		dst[at] = dst[at-1]
	}
	dst[at] = r
	return dst
}
