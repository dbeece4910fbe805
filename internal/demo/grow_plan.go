package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/internal/replay"
)

// plan is a stream by which the graph grows: every second training node of each class is withheld from T and
// arrives with the test nodes, in a random order.
//
// An arrival names its edges to the nodes that exist when it arrives: T's, and the arrivals before it. Its edges to
// later arrivals are named by those. Validation nodes are held out and never named.
type plan struct {
	data     *dataset.Dataset // as read
	base     *dataset.Dataset // before the stream: arrivals are in no role and have no class
	order    []int32          // nodes in the order in which they arrive
	place    []int32          // n: of each node in order, or inT or nowhere
	ids      []string         // the nodes of order
	withheld map[string]int32 // class of each withheld training node
}

// purposeStream is the random stream of the plan; it is independent of the trainer's streams of the same seed.
const purposeStream = 1 << 32

// newPlan returns the same plan for the same data and seed.
func newPlan(d *dataset.Dataset, seed uint64) (*plan, error) {
	rng := rand.New(rand.NewPCG(seed, purposeStream))
	shuffled := slices.Clone(d.Train)
	rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	p := &plan{data: d, place: make([]int32, d.Nodes()), withheld: map[string]int32{}}
	base := *d
	base.Train, base.Test, base.Labels = nil, nil, slices.Clone(d.Labels)
	met := make([]int, len(d.Classes)) // training nodes of each class so far
	for _, i := range shuffled {
		class := d.Labels[i]
		met[class]++
		if met[class]%2 == 1 { // no class vanishes
			base.Train = append(base.Train, i)
			continue
		}
		p.order = append(p.order, i)
		p.withheld[d.IDs[i]] = class
	}
	if len(p.order) == 0 || len(d.Test) == 0 {
		return nil, fmt.Errorf("%s has %d training nodes to withhold and %d test nodes, want some of both", d.Name,
			len(p.order), len(d.Test))
	}
	slices.Sort(base.Train)
	p.order = append(p.order, d.Test...)
	rng.Shuffle(len(p.order), func(i, j int) { p.order[i], p.order[j] = p.order[j], p.order[i] })
	for i := range p.place {
		p.place[i] = nowhere
	}
	for k, i := range p.order {
		p.place[i] = int32(k)
		p.ids = append(p.ids, d.IDs[i])
		base.Labels[i] = -1
	}
	for _, of := range [][]int32{base.Train, base.Unlabelled} {
		for _, i := range of {
			p.place[i] = inT
		}
	}
	p.base = &base
	return p, nil
}

// Places of nodes that do not arrive.
const (
	inT     = -2
	nowhere = -1 // validation nodes, and those in no role
)

// stream returns the arrivals that a replay sends.
func (p *plan) stream() replay.Stream {
	return replay.Stream{Name: p.data.Name, Len: len(p.order), Arrival: p.arrival}
}

// arrival returns the k-th arrival, with a time.
func (p *plan) arrival(k int, at time.Time) event.Arrival {
	a := replay.Arrival(p.data, p.order[k], at)
	cols, weights := p.data.Adj.Row(int(p.order[k]))
	a.Edges, a.Weights = a.Edges[:0], a.Weights[:0]
	for e, j := range cols {
		if place := p.place[j]; place == inT || (place != nowhere && place < int32(k)) {
			if a.Edges = append(a.Edges, p.data.IDs[j]); weights != nil {
				a.Weights = append(a.Weights, weights[e])
			}
		}
	}
	return a
}
