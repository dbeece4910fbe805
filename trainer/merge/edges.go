package merge

import (
	"errors"
	"slices"

	"rivulet/spill"
)

// ends puts waiting edges, and edges of arrivals that join T, into buckets by the id at the other end.
func (g *growth) ends() error {
	g.targets = g.spill("targets", g.ids.Len())
	var r spill.Record
	order := int64(0)
	put := func(source, target string, row int64) error {
		if g.forgets(source, target, row) {
			return nil
		}
		order++
		return g.targets.Put(g.targets.Of(target), r.Reset().Number(order-1).Text(source).Text(target))
	}
	err := g.base.eachWaiting(func(node, id string) error { return put(node, id, beforeArrivals) })
	if err != nil {
		return err
	}
	g.waited = order
	return g.eachJoin(func(a *arrival, _ decision) error {
		for _, id := range a.edges {
			if err := put(a.id, id, a.row); err != nil {
				return err
			}
		}
		return nil
	})
}

// match finds the edges whose other end is known, a bucket of ids at a time.
func (g *growth) match() error {
	g.pairs = g.spill("pairs", bucketsFor(g.targets.Records()))
	g.unknown = g.spill("unknown", ranges(g.targets.Records()))
	for k := range g.targets.Len() {
		if err := errors.Join(g.ctx.Err(), g.matchBucket(k)); err != nil {
			return err
		}
	}
	over := max(0, g.unknowns-int64(g.MaxWaiting))
	g.Report.ForgottenEdges, g.Report.WaitingEdges = int(over), int(g.unknowns-over)
	return nil
}

func (g *growth) matchBucket(k int) error {
	known := map[string]bool{}
	err := g.ids.Each(k, func(r *spill.Record) error {
		switch kind, id := r.NextNumber(), r.NextText(); kind {
		case graphNode:
			if _, role := r.NextNumber(), Role(r.NextNumber()); role != None || g.base.withoutRole() {
				known[id] = true
			}
		case arrivalHead: // it has joined T, or the graph has its id
			known[id] = true
		case forgetRecord:
			delete(known, id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return g.targets.Each(k, func(r *spill.Record) error {
		order, source, target := r.NextNumber(), r.NextText(), r.NextText()
		if _, gone := g.forgotten[target]; gone && !known[target] { // else its id would be kept with the graph
			g.Report.RemovedEdges++
			return nil
		}
		switch is := known[target]; {
		case is && order < g.waited:
			g.Report.WaitedEdges++
		case !is && order >= g.waited:
			g.Report.UnknownEdges++
		}
		if !known[target] {
			g.unknowns++
			return g.unknown.Put(int(order/rangeRows), r)
		}
		var pair spill.Record
		low, high := min(source, target), max(source, target)
		return g.pairs.Put(g.pairs.Of(low+"\x00"+high), pair.Text(low).Text(high))
	})
}

// eachPair calls use with the new edges, each once.
func (g *growth) eachPair(use func(low, high string) error) error {
	for k := range g.pairs.Len() {
		seen := map[[2]string]bool{}
		err := g.pairs.Each(k, func(r *spill.Record) error {
			ends := [2]string{r.NextText(), r.NextText()}
			if seen[ends] {
				return nil
			}
			seen[ends] = true
			return use(ends[0], ends[1])
		})
		if err := errors.Join(err, g.ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// eachUnmatched calls use with the edges that wait, in their order, without the oldest if they are too many.
func (g *growth) eachUnmatched(use func(node, id string) error) error {
	forgotten := g.Report.ForgottenEdges
	type edge struct {
		order    int64
		node, id string
	}
	for k := range g.unknown.Len() {
		var edges []edge
		err := g.unknown.Each(k, func(r *spill.Record) error {
			edges = append(edges, edge{r.NextNumber(), r.NextText(), r.NextText()})
			return nil
		})
		if err != nil {
			return err
		}
		slices.SortFunc(edges, func(a, b edge) int { return int(a.order - b.order) })
		drop := min(forgotten, len(edges))
		forgotten -= drop
		for _, e := range edges[drop:] {
			if err := use(e.node, e.id); err != nil {
				return err
			}
		}
	}
	return nil
}
