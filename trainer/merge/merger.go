package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/internal/spill"
	"rivulet/schema"
)

// DefaultWaiting is how many edges wait for ids that have not arrived, unless [Merger.MaxWaiting] says something
// else; in memory one takes some 50 bytes and its id.
const DefaultWaiting = 1_000_000

// Merger gathers arrivals and labels for one graph. It is used by one goroutine at a time.
type Merger struct {
	Counter
	// MaxWaiting is how many edges to ids that have not arrived are kept with the graph, the latest ones; 0: none.
	MaxWaiting int
	// UpdateFeatures gives a node the features of the last arrival with its id, where the node is in the graph already or
	// has arrived before. Otherwise its first features stay.
	UpdateFeatures bool

	base    *Data
	form    form // of the graph's edges
	answers *answers
	buckets []*spill.Buckets // all, to be closed

	arrivals *spill.Buckets   // see arrival: also edges of their own, and ids that are to be forgotten
	labels   *spill.Buckets   // id, class, time
	kept     []event.Features // of arrivals
	settled  map[string]bool  // ids whose next arrival cannot join, as a node of T or an arrival has them
	// forgotten has, of each id that was forgotten, its row among the arrivals: those before it are forgotten
	forgotten map[string]int64
}

// New returns a merger for a graph, which it does not change.
func New(base *Data) *Merger {
	m := &Merger{MaxWaiting: DefaultWaiting, Counter: newCounter(), base: base, form: base.form(),
		answers: base.answers(), settled: map[string]bool{}, forgotten: map[string]int64{}}
	m.arrivals, m.labels = m.spill(1), m.spill(1)
	for i, role := range base.roles() {
		if role != None {
			m.settled[base.IDs[i]] = true
		}
	}
	return m
}

// spill returns buckets of records.
func (m *Merger) spill(n int) *spill.Buckets {
	b := spill.InMemory(n)
	m.buckets = append(m.buckets, b)
	return b
}

// Relations are those by which arrivals' edges are to be read before [Merger.Arrival] takes them
// ([event.Arrival.Relate]); nil: the graph's edges have neither types nor directions. T has edges of both directions,
// also where consumers read those of one.
func (m *Merger) Relations() *graph.Bins {
	if m.form.by == nil {
		return nil
	}
	all := *m.form.by
	all.Arriving = 0
	return &all
}

// Arrival takes the next arrival and copies the parts that it keeps. One whose features do not fit the graph is counted
// by its reason, and the error, an *event.FieldError, names the field; another error is the disk's. Limits are the
// caller's: it must give only arrivals that a consumer would take.
func (m *Merger) Arrival(a *event.Arrival) error {
	if m.base.typed() && a.Features.Named == nil {
		err := event.Errorf(event.ReasonSchema, "features", "are by position, and nodes are of several types: want names")
		m.Refuse(err)
		return err
	}
	if err := m.Take(a, m.base.Features()); err != nil {
		return err
	}
	joins := m.mayJoin(a.ID)
	var edges []string
	var of []property
	var dropped int
	if joins {
		var unknown int
		edges, of, dropped, unknown = m.form.edgesOf(a)
		m.Report.UnknownTypes += unknown
	}
	var r spill.Record
	r.Text(a.ID).Number(int64(dropped)).Number(int64(len(edges)))
	for k, id := range edges {
		r.Text(id).Number(int64(of[k]))
	}
	var f event.Features
	if joins || m.UpdateFeatures {
		f = event.Features{Sparse: a.Features.Sparse, Indices: slices.Clone(a.Features.Indices),
			Values: slices.Clone(a.Features.Values), Named: named(a.Features.Named, m.base.columns())}
	}
	m.kept = append(m.kept, f)
	return m.arrivals.Put(0, &r)
}

// edgeMark stands where a record of an arrival has the number of dropped entries, and says that it is an edge of its
// own: its ends are the id and the only entry.
const edgeMark = -2

// Edge takes an edge that came as a record of its own, between nodes that the graph has or that arrive. Its weight,
// type and direction count where the graph's edges have them. An error is the disk's.
func (m *Merger) Edge(e *event.Edge) error {
	m.Report.EdgeRecords++
	if e.Source == e.Target {
		m.Dropped(1)
		return nil
	}
	low, high, of, known := m.form.edgeOf(e)
	if !known {
		m.Report.UnknownTypes++
		return nil
	}
	var r spill.Record
	r.Text(low).Number(edgeMark).Number(1).Text(high).Number(int64(of))
	return m.arrivals.Put(0, &r)
}

// mayJoin reports whether an arrival with this id can join T. The others are not kept: a topic that is read
// from its beginning has mostly such.
func (m *Merger) mayJoin(id string) bool {
	if m.settled[id] {
		return false
	}
	m.settled[strings.Clone(id)] = true
	return true
}

// named copies the fields that the graph has columns for; nil for nil.
func named(fields []schema.Field, columns []schema.Column) []schema.Field {
	if fields == nil || columns == nil {
		return nil
	}
	kept := make([]schema.Field, 0, len(columns))
	for k := range columns {
		if v := valueOf(fields, columns[k].Name); v.Type != schema.Missing {
			v.Text, v.Vector = strings.Clone(v.Text), slices.Clone(v.Vector)
			kept = append(kept, schema.Field{Name: columns[k].Name, Value: v})
		}
	}
	return kept
}

// Label takes the next label. An error is the disk's.
func (m *Merger) Label(l *event.Label) error {
	class, known := m.resolveLabel(l, m.answers)
	if !known {
		return nil
	}
	var r spill.Record
	return m.labels.Put(0, putTime(r.Text(l.ID).Number(int64(class)), l.Time))
}

// putTime appends the seconds and nanoseconds since 1970, as nanoseconds in 64 bits do not reach all times; for no
// time, a mark.
func putTime(r *spill.Record, t time.Time) *spill.Record {
	if t.IsZero() {
		return r.Number(0)
	}
	return r.Number(1).Number(t.Unix()).Number(int64(t.Nanosecond()))
}

func nextTime(r *spill.Record) time.Time {
	if r.NextNumber() == 0 {
		return time.Time{}
	}
	return time.Unix(r.NextNumber(), r.NextNumber())
}

// arrival is a taken arrival: its id, the number of dropped entries of its list of edges, the other entries, and its
// features. Rows count from 0. Where dropped is forgetMark or edgeMark, the record is no arrival.
type arrival struct {
	row     int64
	place   int // of its features among those that are kept in memory
	id      string
	dropped int64
	edges   []string
	of      []property // of the edges
}

// eachArrival calls use with the arrivals in their order.
func (m *Merger) eachArrival(ctx context.Context, use func(*arrival) error) error {
	var a arrival
	return m.arrivals.Each(0, func(r *spill.Record) error {
		a.id, a.dropped, a.edges, a.of = r.NextText(), r.NextNumber(), a.edges[:0], a.of[:0]
		for range r.NextNumber() {
			a.edges, a.of = append(a.edges, r.NextText()), append(a.of, property(r.NextNumber()))
		}
		err := errors.Join(every(ctx, a.row), use(&a))
		if a.row++; a.dropped >= 0 {
			a.place++
		}
		return err
	})
}

// putFeatures appends the place of the features of an arrival to a record.
func (m *Merger) putFeatures(r *spill.Record, a *arrival) *spill.Record {
	return r.Number(int64(a.place))
}

// nextFeatures reads what putFeatures wrote.
func (m *Merger) nextFeatures(r *spill.Record) event.Features { return m.kept[r.NextNumber()] }

// Grow returns the graph with the arrivals and labels, and the report of their outcomes. If nothing changed it is the
// old graph, or with anew a copy. It is called once.
func (m *Merger) Grow(ctx context.Context, anew bool) (grown *Data, _ Report, err error) {
	defer func() {
		for _, b := range m.buckets {
			err = errors.Join(err, b.Close())
		}
		if err != nil {
			grown, err = nil, fmt.Errorf("merging into %s: %w", m.base.Name(), err)
		}
	}()
	g := &growth{Merger: m, ctx: ctx}
	for _, step := range []func() error{g.gather, g.resolve, g.update, g.ends, g.match, g.compare} {
		if err := step(); err != nil {
			return nil, m.Report, err
		}
	}
	if !m.Report.Changed() && !anew {
		return m.base, m.Report, nil
	}
	grown, err = m.base.grow(g)
	return grown, m.Report, err
}
