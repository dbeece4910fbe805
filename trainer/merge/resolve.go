package merge

import (
	"context"
	"errors"
	"time"

	"rivulet/event"
	"rivulet/internal/spill"
)

// rangeRows is the number of rows whose decisions are in memory together.
const rangeRows = 1 << 18

// bucketRecords is how many records of a bucket are wanted in memory at most; one takes some 100 to 200 bytes there.
const bucketRecords = 1 << 17

// bucketsFor returns the number of buckets for so many records, ranges the number of ranges of so many rows.
func bucketsFor(records int64) int { return int(min(spill.Most, 1+records/bucketRecords)) }
func ranges(rows int64) int        { return int(rows/rangeRows) + 1 }

// growth is one call of Grow.
type growth struct {
	*Merger
	ctx context.Context //nolint:containedctx // of one call of Grow

	ids      *spill.Buckets // by id: facts about it
	changes  *spill.Buckets // by range of rows: nodes of the graph that have changed
	joins    *spill.Buckets // by range of rows: arrivals that join T
	labelled *spill.Buckets // one file: ids of nodes whose class came from a label
	latest   *spill.Buckets // by range of rows: arrivals that give their features to a node that was there
	// their features, by range of rows of the graph's nodes, and of arrivals that join T
	ofNodes, ofJoins *spill.Buckets

	waited    int64          // edges that waited for an id before
	sources   *spill.Buckets // by the id at the first end: edges of their own, and waiting ones
	targets   *spill.Buckets // by the id at the other end: the same, and edges of arrivals
	pairs     *spill.Buckets // by both ids: edges whose ends are known
	between   filter         // pairs of nodes that the graph had: it may have the edge, too
	existing  *spill.Buckets // by both ids, as pairs: edges of the graph that are in the filter
	unmatched *spill.Buckets // by both ids: edges to ids that have not arrived
	unknown   *spill.Buckets // by range of their order: the same
}

// every returns the error of ctx, which it looks at for some rows only.
func every(ctx context.Context, row int64) error {
	if row%4096 != 0 {
		return nil
	}
	return ctx.Err()
}

// Kinds of records of ids.
const (
	graphNode = iota
	labelledNode
	arrivalHead
	labelRecord
	forgetRecord
)

// gather puts all facts about an id into one bucket: first the graph's, then arrivals and labels in their order.
func (g *growth) gather() error {
	g.ids = g.spill(bucketsFor(g.base.rows() + g.arrivals.Records() + g.labels.Records()))
	var r spill.Record
	put := func(id string) error { return g.ids.Put(g.ids.Of(id), &r) }
	row := int64(0)
	err := g.base.eachNode(g.ctx, func(id string, role Role, class int32) error {
		row++
		r.Reset().Number(graphNode).Text(id).Number(row).Number(int64(role)).Number(int64(class))
		return put(id)
	})
	if err != nil {
		return err
	}
	err = g.base.eachLabelled(func(id string) error {
		r.Reset().Number(labelledNode).Text(id)
		return put(id)
	})
	if err != nil {
		return err
	}
	err = g.eachArrival(g.ctx, func(a *arrival) error {
		kind := int64(arrivalHead)
		switch a.dropped {
		case edgeMark:
			return nil
		case forgetMark:
			kind = forgetRecord
		}
		r.Reset().Number(kind).Text(a.id).Number(a.row).Number(a.dropped)
		return put(a.id)
	})
	if err != nil {
		return err
	}
	return g.labels.Each(0, func(l *spill.Record) error {
		id, class, at := l.NextText(), l.NextNumber(), nextTime(l)
		putTime(r.Reset().Number(labelRecord).Text(id).Number(class), at)
		return put(id)
	})
}

// knowledge has the facts about an id.
type knowledge struct {
	Node
	row     int64 // of the graph's nodes, from 1; 0: it is none
	arrival int64 // of the arrivals, if Arrived
	latest  int64 // row of the last arrival that came after the node was there, from 1; 0: there is none
	label   struct {
		given bool
		class int32
		time  time.Time
	}
}

// resolve decides, a bucket of ids at a time, which arrivals join T and which nodes have another class.
func (g *growth) resolve() error {
	g.changes = g.spill(ranges(g.base.rows()))
	g.joins = g.spill(ranges(g.arrivals.Records()))
	g.labelled, g.latest = g.spill(1), g.spill(ranges(g.arrivals.Records()))
	for k := range g.ids.Len() {
		if err := errors.Join(g.ctx.Err(), g.resolveBucket(k)); err != nil {
			return err
		}
	}
	return nil
}

func (g *growth) resolveBucket(k int) error {
	nodes := map[string]*knowledge{}
	var order []string
	err := g.ids.Each(k, func(r *spill.Record) error {
		kind, id := r.NextNumber(), r.NextText()
		n := nodes[id]
		if n == nil {
			n = &knowledge{}
			nodes[id], order = n, append(order, id)
		}
		g.learn(n, kind, r)
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range order {
		if err := g.decide(id, nodes[id]); err != nil {
			return err
		}
	}
	return nil
}

// decide writes down the change for an id.
func (g *growth) decide(id string, n *knowledge) error {
	changed := n.label.given && n.Label(n.label.class, &g.Report)
	var err error
	switch {
	case n.Arrived:
		if n.row > 0 { // a node in no role gives way to the arrival
			err = putDecision(g.changes, n.row, decision{})
		}
		err = errors.Join(err, putDecision(g.joins, n.arrival, decision{n.Role, n.Class}))
	case changed:
		err = putDecision(g.changes, n.row, decision{n.Role, n.Class})
	}
	if n.latest > 0 {
		var r spill.Record
		g.Report.Updated++
		r.Number(n.latest - 1).Number(n.row)
		if n.Arrived {
			r.Reset().Number(n.latest - 1).Number(-1 - n.arrival)
		}
		err = errors.Join(err, g.latest.Put(int((n.latest-1)/rangeRows), &r))
	}
	if n.Labelled {
		var r spill.Record
		err = errors.Join(err, g.labelled.Put(0, r.Text(id)))
	}
	return err
}

// learn takes a record of an id.
func (g *growth) learn(n *knowledge, kind int64, r *spill.Record) {
	switch kind {
	case graphNode:
		n.row, n.Role, n.Class = r.NextNumber(), Role(r.NextNumber()), int32(r.NextNumber())
	case labelledNode:
		n.Labelled = true
	case arrivalHead:
		row, dropped := r.NextNumber(), r.NextNumber()
		if n.Arrive(&g.Report) {
			n.arrival = row
			g.Dropped(int(dropped))
		} else if g.UpdateFeatures {
			n.latest = row + 1
		}
	case forgetRecord:
		n.Forget(n.row > 0, &g.Report)
		n.row, n.latest = 0, 0
	case labelRecord:
		class, at := int32(r.NextNumber()), nextTime(r)
		if to := &n.label; !to.given || !earlier(at, to.time) {
			to.given, to.class, to.time = true, class, at
		}
	}
}

// decision is the new role and class of a row of the graph's nodes, or of the arrivals. The role None removes the row.
type decision struct {
	role  Role
	class int32
}

func putDecision(to *spill.Buckets, row int64, d decision) error {
	var r spill.Record
	return to.Put(int(row/rangeRows), r.Number(row).Number(int64(d.role)).Number(int64(d.class)))
}

// byRow looks up the value of a row. Rows are asked for in ascending order, a range of them is in memory.
type byRow[T any] struct {
	of     *spill.Buckets
	read   func(r *spill.Record) T
	loaded int // range in memory; -1: none
	rows   map[int64]T
}

func newByRow[T any](of *spill.Buckets, read func(r *spill.Record) T) *byRow[T] {
	return &byRow[T]{of: of, read: read, loaded: -1}
}

func newDecisions(of *spill.Buckets) *byRow[decision] {
	return newByRow(of, func(r *spill.Record) decision { return decision{Role(r.NextNumber()), int32(r.NextNumber())} })
}

// on returns the value of a row; false where it has none.
func (d *byRow[T]) on(row int64) (is T, ok bool, err error) {
	if at := int(row / rangeRows); at != d.loaded {
		d.loaded, d.rows = at, map[int64]T{}
		err = d.of.Each(at, func(r *spill.Record) error {
			row := r.NextNumber()
			d.rows[row] = d.read(r)
			return nil
		})
	}
	is, ok = d.rows[row]
	return is, ok, err
}

// update finds the features of arrivals that give them to nodes that were there.
func (g *growth) update() error {
	g.ofNodes, g.ofJoins = g.spill(ranges(g.base.rows())),
		g.spill(ranges(g.arrivals.Records()))
	if g.latest.Records() == 0 {
		return nil
	}
	latest := newByRow(g.latest, (*spill.Record).NextNumber)
	return g.eachArrival(g.ctx, func(a *arrival) error {
		row, is, err := latest.on(a.row)
		if err != nil || !is {
			return err
		}
		to := g.ofNodes
		if row < 0 {
			row, to = -1-row, g.ofJoins
		}
		var r spill.Record
		return to.Put(int(row/rangeRows), g.putFeatures(r.Number(row), a))
	})
}

// eachJoin calls use with the arrivals that join T, in their order, and the features that they have in the end.
func (g *growth) eachJoin(use func(a *arrival, f event.Features, is decision) error) error {
	joins, later := newDecisions(g.joins), newByRow(g.ofJoins, g.nextFeatures)
	return g.eachArrival(g.ctx, func(a *arrival) error {
		is, join, err := joins.on(a.row)
		if err != nil || !join {
			return err
		}
		f, changed, err := later.on(a.row)
		if err != nil {
			return err
		}
		if !changed {
			var r spill.Record
			f = g.nextFeatures(g.putFeatures(&r, a))
		}
		return use(a, f, is)
	})
}
