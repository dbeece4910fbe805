package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/schema"
)

// DefaultWaiting is the number of edges that wait for ids that have not arrived, unless [Merger.MaxWaiting] says
// something else; in memory one takes some 100 bytes and its id.
const DefaultWaiting = 1_000_000

// Merger gathers arrivals, edges, labels and ids to forget for one graph. It is used by one goroutine at a time.
type Merger struct {
	// Report counts what the merger was given, and after [Merger.Grow] the outcomes.
	Report Report
	// MaxWaiting bounds the edges to ids that have not arrived which stay with the graph, the latest ones; 0: none.
	MaxWaiting int
	// UpdateFeatures gives a node the features of the last arrival with its id, where the node is in the graph already or
	// has arrived before. Otherwise its first features stay.
	UpdateFeatures bool

	base    *dataset.Dataset
	form    form // of the graph's edges
	answers *answers

	nodes     []node           // the graph's, in its order, and then the ids that records name
	index     map[string]int32 // the node of an id; one that was forgotten is not there
	joined    []int32          // nodes beyond the graph's that have joined T, in the order in which they arrived
	edges     []edge           // those that waited already, then those that came, in their order
	waited    int              // edges that waited already
	labels    map[string]label // the latest of each id
	forgotten map[string]bool  // ids
}

// New returns a merger for a graph, which it does not change.
func New(base *dataset.Dataset) *Merger {
	m := &Merger{MaxWaiting: DefaultWaiting, base: base, form: form{base.Slots()},
		Report: Report{Refused: map[string]int{}, UnknownClass: map[string]int{}, LabelRefused: map[string]int{}},
		nodes:  make([]node, len(base.IDs)), index: make(map[string]int32, len(base.IDs)),
		labels: map[string]label{}, forgotten: map[string]bool{}}
	a, of := answersOf(base)
	m.answers = a
	for i, id := range base.IDs {
		m.nodes[i] = node{id: id, answer: of[i], known: true}
		m.index[id] = int32(i)
	}
	for _, role := range []struct {
		is    role
		nodes []int32
	}{{train, base.Train}, {unlabelled, base.Unlabelled}, {heldOut, base.Validation}, {heldOut, base.Test}} {
		for _, i := range role.nodes {
			m.nodes[i].role = role.is
		}
	}
	for _, i := range base.Merged.Labelled {
		m.nodes[i].labelled = true
	}
	for k := range base.Merged.Waiting {
		w := &base.Merged.Waiting[k]
		from := w.Node
		if from < 0 {
			from = m.place(w.From)
		}
		m.edges = append(m.edges, edge{from: from, to: m.place(w.ID), of: m.form.ofWaiting(w),
			weight: m.form.weight(w.Weight)})
	}
	m.waited = len(m.edges)
	return m
}

// place returns the number of the node of an id.
func (m *Merger) place(id string) int32 {
	if i, is := m.index[id]; is {
		return i
	}
	i := int32(len(m.nodes))
	id = strings.Clone(id)
	m.nodes = append(m.nodes, node{id: id, answer: -1, again: m.forgotten[id]})
	m.index[id] = i
	return i
}

// Relations are those by which arrivals' edges are to be read before [Merger.Arrival] takes them
// ([event.Arrival.Relate]). T has edges of both directions, also where consumers read those of one.
func (m *Merger) Relations() graph.Slots {
	all := m.form.slots
	all.Arriving = 0
	return all
}

// Arrival takes the next arrival and copies the parts that it keeps. One whose features do not fit the graph is counted
// by its reason, and the error, an *event.FieldError, names the field. Limits are the caller's: it must give only
// arrivals that a consumer would take.
func (m *Merger) Arrival(a *event.Arrival) error {
	err := a.Check(m.base.X.Cols(), 0)
	if m.base.NodeTypes != nil && a.Features.Named == nil {
		err = event.Errorf(event.ReasonSchema, "features", "are by position, and nodes are of several types: want names")
	}
	if err != nil {
		m.Refuse(err)
		return err
	}
	m.Report.Arrivals++
	i := m.place(a.ID)
	joins := m.nodes[i].arrive(&m.Report)
	if joins || m.UpdateFeatures {
		if !joins && !m.nodes[i].updated {
			m.nodes[i].updated = true
			m.Report.Updated++
		}
		m.nodes[i].features = m.featuresOf(a)
	}
	if !joins {
		return nil
	}
	if int(i) >= len(m.base.IDs) {
		m.joined = append(m.joined, i)
	}
	ids, edges, dropped, unknown := m.form.edgesOf(a)
	m.Report.UnknownTypes += unknown
	m.Dropped(dropped)
	for k, id := range ids {
		edges[k].from, edges[k].to, edges[k].listed = i, m.place(id), true
		m.edges = append(m.edges, edges[k])
	}
	return nil
}

// featuresOf copies the features of an arrival: of named ones the fields that the graph has columns for.
func (m *Merger) featuresOf(a *event.Arrival) *event.Features {
	f := &event.Features{Sparse: a.Features.Sparse, Indices: slices.Clone(a.Features.Indices),
		Values: slices.Clone(a.Features.Values)}
	columns := m.base.Values
	if a.Features.Named == nil || columns == nil {
		return f
	}
	f.Named = make([]schema.Field, 0, len(columns))
	for k := range columns {
		if v := valueOf(a.Features.Named, columns[k].Name); v.Type != schema.Missing {
			v.Text, v.Vector = strings.Clone(v.Text), slices.Clone(v.Vector)
			f.Named = append(f.Named, schema.Field{Name: columns[k].Name, Value: v})
		}
	}
	return f
}

// valueOf returns the value of a name, missing if the arrival does not have it.
func valueOf(fields []schema.Field, name string) schema.Value {
	for i := range fields {
		if fields[i].Name == name {
			return fields[i].Value
		}
	}
	return schema.Value{}
}

// Edge takes an edge that came as a record of its own, between nodes that the graph has or that arrive. Its weight,
// type and direction count where the graph's edges have them.
func (m *Merger) Edge(e *event.Edge) {
	m.Report.EdgeRecords++
	if e.Source == e.Target {
		m.Dropped(1)
		return
	}
	of, known := m.form.edgeOf(e)
	if !known {
		m.Report.UnknownTypes++
		return
	}
	m.edges = append(m.edges, edge{from: m.place(e.Source), to: m.place(e.Target), of: of,
		weight: m.form.weight(e.Weight)})
}

// Forget takes an id that is to be forgotten: the node of the graph, whatever its role, and the arrivals with the id so
// far, with their edges.
func (m *Merger) Forget(id string) {
	m.Report.Forgets++
	m.forgotten[strings.Clone(id)] = true
	i, is := m.index[id]
	if !is {
		return
	}
	delete(m.index, id)
	m.nodes[i].forget(int(i) < len(m.base.IDs), &m.Report)
}

// Label takes the next label.
func (m *Merger) Label(l *event.Label) {
	m.Report.Labels++
	answer, known := m.answers.resolve(l)
	if !known {
		m.Report.UnknownClass[l.Word()]++
		return
	}
	if before, is := m.labels[l.ID]; !is || !earlier(l.Time, before.time) {
		m.labels[strings.Clone(l.ID)] = label{answer, l.Time}
	}
}

// label is the content of a label record.
type label struct {
	answer int32
	time   time.Time
}

// earlier reports whether a label is earlier than one of the same node that was read before it, which then stays.
// Zero times are unknown.
func earlier(label, before time.Time) bool {
	return !label.IsZero() && !before.IsZero() && label.Before(before)
}

// Dropped counts entries of edge lists that were dropped before their arrival was given to the merger.
func (m *Merger) Dropped(entries int) { m.Report.DroppedEdges += entries }

// Refuse counts a record that could not be decoded into an arrival, by the reason that the codec gave.
func (m *Merger) Refuse(err error) { m.Report.Refused[reason(err)]++ }

// RefuseLabel counts a record that could not be decoded into a label.
func (m *Merger) RefuseLabel(err error) { m.Report.LabelRefused[reason(err)]++ }

func reason(err error) string {
	var field *event.FieldError
	if errors.As(err, &field) {
		return field.Reason
	}
	return event.ReasonUnparsable
}

// Grow returns the graph with the arrivals and labels, and the report of their outcomes. If nothing changed it is the
// old graph, or with anew a copy. It is called once.
func (m *Merger) Grow(ctx context.Context, anew bool) (*dataset.Dataset, Report, error) {
	for id, l := range m.labels {
		n := &node{} // of an id that nobody knows
		if i, is := m.index[id]; is {
			n = &m.nodes[i]
		}
		n.label(l.answer, &m.Report)
	}
	fresh, waiting := m.match()
	if err := ctx.Err(); err != nil {
		return nil, m.Report, fmt.Errorf("merging into %s: %w", m.base.Name, err)
	}
	if !m.Report.Changed() && !anew {
		return m.base, m.Report, nil
	}
	m.index, m.edges, m.labels = nil, nil, nil // done with
	return m.assemble(fresh, waiting), m.Report, nil
}
