package outofcore

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"rivulet/dataset"
	"rivulet/trainer/merge"
	"rivulet/trainer/stage/solved"
)

// rangeRows is the number of rows whose decisions are in memory together.
const rangeRows = 1 << 18

// growth is a merge in the making.
type growth struct {
	*Merger
	ctx context.Context //nolint:containedctx // of one call of Grow
	dir string          // of the grown graph

	ids      *spill // by id: what is known of it
	changes  *spill // by range of rows: nodes of the graph that have changed
	joins    *spill // by range of rows: arrivals that join T
	labelled *spill // one file: ids of nodes whose class came from a label

	waited   int64  // edges that waited for an id
	targets  *spill // by the id at the other end: edges of arrivals, and those that waited
	pairs    *spill // by both ids: new edges
	unknown  *spill // by range of their order: edges to ids that have not arrived
	unknowns int64
}

// Kinds of records of ids.
const (
	ofGraph = iota
	ofLabelled
	ofArrival
	ofLabel
)

func (g *growth) spill(name string, files int) (*spill, error) {
	return newSpill(filepath.Join(g.Merger.dir, name), files)
}

// ranges is the number of ranges of so many rows.
func ranges(rows int64) int { return int(rows/rangeRows) + 1 }

// close removes temporary files.
func (g *growth) close() error {
	var err error
	for _, s := range []*spill{g.ids, g.changes, g.joins, g.labelled, g.targets, g.pairs, g.unknown} {
		if s != nil {
			err = errors.Join(err, s.close())
		}
	}
	return err
}

// gather puts what is known of an id into one bucket: first the graph's, then arrivals and labels in their order.
func (g *growth) gather() (err error) {
	s := g.base.Stream
	if g.ids, err = g.spill("ids", bucketsFor(s.Rows+g.arrivals.rows+g.labels.rows)); err != nil {
		return err
	}
	var r record
	classes := map[string]int64{}
	for k, name := range g.base.Classes {
		classes[name] = int64(k)
	}
	err = s.EachID(func(n dataset.StreamNode) error {
		role := int64(mergeRoles[solved.RoleOf(n.Split)])
		return errors.Join(every(g.ctx, n.Row), g.ids.put(g.ids.bucket(n.ID),
			r.reset().number(ofGraph).text(n.ID).number(n.Row).number(role).number(classes[n.Label])))
	})
	if err != nil {
		return err
	}
	err = g.base.eachLabelled(func(l *labelledRow) error {
		return g.ids.put(g.ids.bucket(l.ID), r.reset().number(ofLabelled).text(l.ID))
	})
	if err != nil {
		return err
	}
	err = eachOf(&g.arrivals, func(a *arrivalHead) error {
		return errors.Join(every(g.ctx, a.Row),
			g.ids.put(g.ids.bucket(a.ID), r.reset().number(ofArrival).text(a.ID).number(a.Row).number(a.Dropped)))
	})
	if err != nil {
		return err
	}
	return eachOf(&g.labels, func(l *labelRow) error {
		timed := int64(0)
		if l.Timed {
			timed = 1
		}
		return g.ids.put(g.ids.bucket(l.ID),
			r.reset().number(ofLabel).text(l.ID).number(int64(l.Class)).number(timed).number(l.Seconds).
				number(int64(l.Nanoseconds)))
	})
}

// mergeRoles are the roles of package merge.
var mergeRoles = map[solved.Role]merge.Role{solved.NoRole: merge.None, solved.Train: merge.Train,
	solved.Unlabelled: merge.Unlabelled, solved.Validation: merge.HeldOut, solved.Test: merge.HeldOut}

// known is what is known of an id.
type known struct {
	merge.Node
	row     int64 // of the graph's nodes, from 1; 0: it is none
	arrival int64 // of the arrivals, if Arrived
	label   struct {
		given bool
		class int32
		time  time.Time
	}
}

// resolve decides, a bucket of ids at a time, which arrivals join T and which nodes have another class.
func (g *growth) resolve() (err error) {
	if g.changes, err = g.spill("changes", ranges(g.base.Stream.Rows)); err != nil {
		return err
	}
	if g.joins, err = g.spill("joins", ranges(g.arrivals.rows)); err != nil {
		return err
	}
	if g.labelled, err = g.spill("labelled", 1); err != nil {
		return err
	}
	for k := range g.ids.files {
		if err := errors.Join(g.ctx.Err(), g.resolveBucket(k)); err != nil {
			return err
		}
	}
	return nil
}

func (g *growth) resolveBucket(k int) error {
	nodes := map[string]*known{}
	var order []string
	err := g.ids.each(k, func(r *record) error {
		kind, id := r.nextNumber(), r.nextText()
		n := nodes[id]
		if n == nil {
			n = &known{}
			nodes[id], order = n, append(order, id)
		}
		g.learn(n, kind, r)
		return nil
	})
	if err != nil {
		return err
	}
	var r record
	for _, id := range order {
		n := nodes[id]
		changed := n.label.given && n.Label(n.label.class, &g.Report)
		switch {
		case n.Arrived:
			if n.row > 0 { // a node in no role gives way to the arrival
				err = g.changes.put(int(n.row/rangeRows), decision{}.record(&r, n.row))
			}
			if err == nil {
				err = g.joins.put(int(n.arrival/rangeRows), decision{n.Role, n.Class}.record(&r, n.arrival))
			}
		case changed:
			err = g.changes.put(int(n.row/rangeRows), decision{n.Role, n.Class}.record(&r, n.row))
		}
		if err == nil && n.Labelled {
			err = g.labelled.put(0, r.reset().text(id))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// learn takes a record of an id.
func (g *growth) learn(n *known, kind int64, r *record) {
	switch kind {
	case ofGraph:
		n.row, n.Role, n.Class = r.nextNumber(), merge.Role(r.nextNumber()), int32(r.nextNumber())
	case ofLabelled:
		n.Labelled = true
	case ofArrival:
		row, dropped := r.nextNumber(), r.nextNumber()
		if n.Arrive(&g.Report) {
			n.arrival = row
			g.Dropped(int(dropped))
		}
	case ofLabel:
		l := labelRow{Class: int32(r.nextNumber()), Timed: r.nextNumber() != 0, Seconds: r.nextNumber(),
			Nanoseconds: int32(r.nextNumber())}
		if to := &n.label; !to.given || !merge.Earlier(l.at(), to.time) {
			to.given, to.class, to.time = true, l.Class, l.at()
		}
	}
}

// decision is the new role and class of a row of the graph's nodes, or of the arrivals. The role None removes the row.
type decision struct {
	role  merge.Role
	class int32
}

func (d decision) record(r *record, row int64) *record {
	return r.reset().number(row).number(int64(d.role)).number(int64(d.class))
}

// decisions gives the decisions on rows, which are asked for in ascending order.
type decisions struct {
	of     *spill
	loaded int // range in memory; -1: none
	rows   map[int64]decision
}

func newDecisions(of *spill) *decisions { return &decisions{of: of, loaded: -1} }

// on returns the decision on a row; false if there is none.
func (d *decisions) on(row int64) (decision, bool, error) {
	if at := int(row / rangeRows); at != d.loaded {
		d.loaded, d.rows = at, map[int64]decision{}
		err := d.of.each(at, func(r *record) error {
			row := r.nextNumber()
			d.rows[row] = decision{merge.Role(r.nextNumber()), int32(r.nextNumber())}
			return nil
		})
		if err != nil {
			return decision{}, false, err
		}
	}
	is, ok := d.rows[row]
	return is, ok, nil
}

// ends puts edges that waited, and those of arrivals that join T, into buckets by the id at the other end.
func (g *growth) ends() (err error) {
	if g.targets, err = g.spill("targets", len(g.ids.files)); err != nil {
		return err
	}
	var r record
	order := int64(0)
	put := func(source, target string) error {
		order++
		return g.targets.put(g.targets.bucket(target), r.reset().number(order-1).text(source).text(target))
	}
	err = g.base.eachWaiting(func(w *waitingRow) error { return put(w.Node, w.ID) })
	if err != nil {
		return err
	}
	g.waited = order
	joins := newDecisions(g.joins)
	return eachOf(&g.arrivals, func(a *arrivalEnds) error {
		_, join, err := joins.on(a.Row)
		if err != nil || !join {
			return err
		}
		for _, id := range a.Edges {
			if err := put(a.ID, id); err != nil {
				return err
			}
		}
		return every(g.ctx, a.Row)
	})
}

// known finds the edges whose other end is known, a bucket of ids at a time.
func (g *growth) known() (err error) {
	if g.pairs, err = g.spill("pairs", bucketsFor(g.targets.records)); err != nil {
		return err
	}
	if g.unknown, err = g.spill("unknown", ranges(g.targets.records)); err != nil {
		return err
	}
	for k := range g.targets.files {
		if err := errors.Join(g.ctx.Err(), g.knownBucket(k)); err != nil {
			return err
		}
	}
	over := max(0, g.unknowns-int64(g.MaxWaiting))
	g.Report.ForgottenEdges, g.Report.WaitingEdges = int(over), int(g.unknowns-over)
	return nil
}

func (g *growth) knownBucket(k int) error {
	ids := map[string]bool{}
	err := g.ids.each(k, func(r *record) error {
		switch kind, id := r.nextNumber(), r.nextText(); kind {
		case ofGraph:
			if _, role := r.nextNumber(), merge.Role(r.nextNumber()); role != merge.None {
				ids[id] = true
			}
		case ofArrival: // it has joined T, or the graph has its id
			ids[id] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return g.targets.each(k, func(r *record) error {
		order, source, target := r.nextNumber(), r.nextText(), r.nextText()
		is := ids[target]
		switch {
		case is && order < g.waited:
			g.Report.WaitedEdges++
		case !is && order >= g.waited:
			g.Report.UnknownEdges++
		}
		if is {
			low, high := min(source, target), max(source, target)
			return g.pairs.put(g.pairs.bucket(low+"\x00"+high), r.reset().text(low).text(high))
		}
		g.unknowns++
		return g.unknown.put(int(order/rangeRows), r)
	})
}
