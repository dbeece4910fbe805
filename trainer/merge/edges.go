package merge

import (
	"cmp"
	"errors"
	"slices"

	"github.com/cespare/xxhash/v2"

	"rivulet/internal/spill"
)

// ends puts edges into buckets. An edge of an arrival that joins T goes by the id at its other end. An edge of its own,
// and one that waits since an earlier refresh, goes by its first id, because neither of its ends need be known.
func (g *growth) ends() error {
	g.sources, g.targets = g.spill(g.ids.Len()), g.spill(g.ids.Len())
	var r spill.Record
	order := int64(0)
	put := func(to *spill.Buckets, by, source, target string, p property, row int64) error {
		if g.forgets(source, target, row) {
			return nil
		}
		order++
		r.Reset().Number(order - 1)
		if to == g.targets {
			r.Number(hasArrived)
		}
		return to.Put(to.Of(by), r.Text(source).Text(target).Number(int64(p)))
	}
	err := g.base.eachWaiting(func(node, id string, p property) error {
		low, high, p := g.form.ordered(node, id, p)
		return put(g.sources, low, low, high, p, beforeArrivals)
	})
	if err != nil {
		return err
	}
	g.waited = order
	joins := newDecisions(g.joins)
	return g.eachArrival(g.ctx, func(a *arrival) error {
		if a.dropped == edgeMark {
			return put(g.sources, a.id, a.id, a.edges[0], a.of[0], a.row)
		}
		if _, join, err := joins.on(a.row); err != nil || !join {
			return err
		}
		for k, id := range a.edges {
			if err := put(g.targets, id, a.id, id, a.of[k], a.row); err != nil {
				return err
			}
		}
		return nil
	})
}

// What is known of an id.
const (
	isUnknown  = iota
	hasArrived // it is a node of the grown graph
	isOld      // it was a node of the graph before
)

// match finds the ends of edges, a bucket of ids at a time: first the one, then the other.
func (g *growth) match() error {
	g.pairs, g.unmatched = g.spill(bucketsFor(g.sources.Records()+g.targets.Records())),
		g.spill(bucketsFor(g.sources.Records()+g.targets.Records()))
	for _, of := range []*spill.Buckets{g.sources, g.targets} {
		for k := range of.Len() {
			if of.Records() == 0 {
				break
			}
			if err := errors.Join(g.ctx.Err(), g.matchBucket(k, of)); err != nil {
				return err
			}
		}
	}
	return g.wait()
}

// known returns the row of each id of a bucket that T has.
func (g *growth) known(k int) (map[string]int64, error) {
	known := map[string]int64{}
	err := g.ids.Each(k, func(r *spill.Record) error {
		switch kind, id := r.NextNumber(), r.NextText(); kind {
		case graphNode:
			known[id] = isOld
		case arrivalHead: // it has joined T, or the graph has its id
			known[id] = max(known[id], hasArrived)
		case forgetRecord:
			delete(known, id)
		}
		return nil
	})
	return known, err
}

func (g *growth) matchBucket(k int, of *spill.Buckets) error {
	known, err := g.known(k)
	if err != nil {
		return err
	}
	return of.Each(k, func(r *spill.Record) error {
		order, first := r.NextNumber(), int64(isUnknown)
		if of == g.targets {
			first = r.NextNumber()
		}
		source, target := r.NextText(), r.NextText()
		p, id := property(r.NextNumber()), target
		if of == g.sources {
			id = source
		}
		is := known[id]
		if _, gone := g.forgotten[id]; gone && is == isUnknown { // else its id would be kept with the graph
			g.Report.RemovedEdges++
			return nil
		}
		var out spill.Record
		if of == g.sources {
			return g.targets.Put(g.targets.Of(target), out.Number(order).Number(is).Text(source).Text(target).Number(int64(p)))
		}
		low, high, of := g.form.ordered(source, target, p)
		if first != isUnknown && is != isUnknown {
			if order < g.waited {
				g.Report.WaitedEdges++
			}
			old := int64(0)
			if first == isOld && is == isOld {
				old = 1
				g.between.add(low, high)
			}
			return g.pairs.Put(g.pairs.Of(low+"\x00"+high), out.Number(old).Text(low).Text(high).Number(int64(of)))
		}
		if order >= g.waited {
			g.Report.UnknownEdges++
		}
		if is != isUnknown { // the end that is known goes first
			source, target, p = target, source, g.form.turned(p)
		}
		out.Number(order).Text(source).Text(target).Number(int64(p))
		return g.unmatched.Put(g.unmatched.Of(low+"\x00"+high), &out)
	})
}

// waitingEdge has the place of an edge in the order in which edges came, its property, and the one of earlier rounds.
type waitingEdge struct {
	order   int64
	of, was property
}

// wait puts each edge that waits into its place in the order in which they came. One that came twice waits once, with
// the larger of its weights.
func (g *growth) wait() error {
	g.unknown = g.spill(ranges(g.sources.Records() + g.targets.Records()))
	all, fresh := int64(0), 0
	for k := range g.unmatched.Len() {
		first := map[ends]*waitingEdge{}
		err := g.unmatched.Each(k, func(r *spill.Record) error {
			order, source, target, p := r.NextNumber(), r.NextText(), r.NextText(), property(r.NextNumber())
			at := g.form.ends(source, target, p)
			w := first[at]
			if w == nil {
				w = &waitingEdge{order: order}
				first[at] = w
			}
			if w.order, w.of = min(w.order, order), max(w.of, p); order < g.waited {
				w.was = max(w.was, p)
			}
			return nil
		})
		for at, w := range first {
			var r spill.Record
			r.Number(w.order).Text(at.first).Text(at.second).Number(int64(w.of))
			err = errors.Join(err, g.unknown.Put(int(w.order/rangeRows), &r))
			if all++; w.order >= g.waited {
				fresh++
			} else if w.of > w.was {
				g.Report.Heavier++
			}
		}
		if err := errors.Join(err, g.ctx.Err()); err != nil {
			return err
		}
	}
	over := max(0, all-int64(g.MaxWaiting))
	g.Report.ForgottenEdges, g.Report.WaitingEdges = int(over), int(all-over)
	g.Report.NewWaiting = min(fresh, g.Report.WaitingEdges)
	return nil
}

// compare looks which edges between nodes of the graph it has already, and counts the others.
func (g *growth) compare() error {
	g.existing = g.spill(g.pairs.Len())
	if g.between.bits == nil {
		return nil
	}
	err := g.base.eachEdge(g.ctx, func(source, target string, p property) error {
		low, high, p := g.form.ordered(source, target, p)
		if !g.between.has(low, high) {
			return nil
		}
		var r spill.Record
		return g.existing.Put(g.existing.Of(low+"\x00"+high), r.Text(low).Text(high).Number(int64(p)))
	})
	if err != nil {
		return err
	}
	return g.eachPair(func(p *pair) error {
		switch {
		case p.heavier:
			g.Report.Heavier++
		case p.old:
			g.Report.OldEdges++
		}
		return nil
	})
}

// eachPair calls use with the new edges, each once and with its largest weight, and with edges of the graph that have a
// larger weight now.
func (g *growth) eachPair(use func(p *pair) error) error {
	for k := range g.pairs.Len() {
		have, met := map[ends]property{}, map[ends]*pair{}
		err := g.existing.Each(k, func(r *spill.Record) error {
			low, high, p := r.NextText(), r.NextText(), property(r.NextNumber())
			at := g.form.ends(low, high, p)
			have[at] = max(have[at], p)
			return nil
		})
		if err != nil {
			return err
		}
		var fresh []*pair
		err = g.pairs.Each(k, func(r *spill.Record) error {
			p := &pair{old: r.NextNumber() == 1, low: r.NextText(), high: r.NextText(), of: property(r.NextNumber())}
			at := g.form.ends(p.low, p.high, p.of)
			was, is := have[at]
			switch before := met[at]; {
			case is && p.of <= was:
			case before != nil:
				before.of = max(before.of, p.of)
			default:
				p.heavier, met[at], fresh = is, p, append(fresh, p)
			}
			return nil
		})
		if err := errors.Join(err, g.ctx.Err()); err != nil {
			return err
		}
		// In whatever records an edge came, it has the same place.
		slices.SortFunc(fresh, func(a, b *pair) int {
			return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.high, b.high), cmp.Compare(a.of, b.of))
		})
		for _, p := range fresh {
			if err := use(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// pair is a new edge, or one of the graph that is heavier now. old says that the graph had both of its ends.
type pair struct {
	low, high string
	of        property
	old       bool
	heavier   bool
}

// filter holds pairs of ids as single bits of 8 MiB: it may take a pair for one of them, and never overlooks one.
type filter struct{ bits []uint64 } // nil: it has none

const filterBits = 1 << 26

// place returns where the bit of a pair is.
func (f *filter) place(low, high string) (word int, bit uint64) {
	at := xxhash.Sum64String(low+"\x00"+high) % filterBits
	return int(at / 64), 1 << (at % 64)
}

func (f *filter) add(low, high string) {
	if f.bits == nil {
		f.bits = make([]uint64, filterBits/64)
	}
	word, bit := f.place(low, high)
	f.bits[word] |= bit
}

func (f *filter) has(low, high string) bool {
	word, bit := f.place(low, high)
	return f.bits[word]&bit != 0
}

// eachUnmatched calls use with the edges that wait, in their order, without the oldest if they are too many.
func (g *growth) eachUnmatched(use func(node, id string, p property) error) error {
	forgotten := g.Report.ForgottenEdges
	type edge struct {
		order    int64
		node, id string
		of       property
	}
	for k := range g.unknown.Len() {
		var edges []edge
		err := g.unknown.Each(k, func(r *spill.Record) error {
			edges = append(edges, edge{r.NextNumber(), r.NextText(), r.NextText(), property(r.NextNumber())})
			return nil
		})
		if err != nil {
			return err
		}
		slices.SortFunc(edges, func(a, b edge) int { return int(a.order - b.order) })
		drop := min(forgotten, len(edges))
		forgotten -= drop
		for _, e := range edges[drop:] {
			if err := use(e.node, e.id, e.of); err != nil {
				return err
			}
		}
	}
	return nil
}
