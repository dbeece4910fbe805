package merge

import (
	"slices"
	"strings"
	"time"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/schema"
)

// DefaultWaiting is how many edges wait for ids that have not arrived, unless [Merger.MaxWaiting] says something
// else; in memory one takes some 50 bytes and its id.
const DefaultWaiting = 1_000_000

// Merger gathers arrivals and labels for one data set. It is used by one goroutine at a time.
type Merger struct {
	// MaxWaiting is how many edges to ids that have not arrived are kept with the data, the latest ones; 0: none.
	MaxWaiting int

	Counter

	data  *dataset.Dataset
	index map[string]int32 // node of each id of the data
	nodes []Node           // of the data

	arrivals []event.Arrival
	arrived  map[string]Node // by id, of arrivals that join T
	labels   map[string]label
}

// label is the latest label of a node.
type label struct {
	class int32
	time  time.Time
}

// New returns a merger for a data set, which it does not change.
func New(d *dataset.Dataset) *Merger {
	m := &Merger{MaxWaiting: DefaultWaiting, Counter: NewCounter(), data: d, index: make(map[string]int32, len(d.IDs)),
		nodes: make([]Node, len(d.IDs)), arrived: map[string]Node{}, labels: map[string]label{}}
	for i, id := range d.IDs {
		m.index[id], m.nodes[i].Class = int32(i), d.Labels[i]
	}
	for _, of := range []struct {
		role  Role
		nodes []int32
	}{{Train, d.Train}, {Unlabelled, d.Unlabelled}, {HeldOut, d.Validation}, {HeldOut, d.Test}} {
		for _, i := range of.nodes {
			m.nodes[i].Role = of.role
		}
	}
	for _, i := range d.Merged.Labelled {
		m.nodes[i].Labelled = true
	}
	return m
}

// Arrival takes the next arrival and copies the parts that it keeps. One whose features do not fit the data is
// counted by its reason, and the error, an *event.FieldError, names the field; there are no others. Limits are the
// caller's: it must give only arrivals that a consumer would take.
func (m *Merger) Arrival(a *event.Arrival) error {
	if err := m.Take(a, m.data.X.Cols()); err != nil {
		return err
	}
	n, again := m.arrived[a.ID]
	if i, known := m.index[a.ID]; known && !again {
		n = m.nodes[i]
	}
	if !n.Arrive(&m.Report) {
		return nil
	}
	kept := event.Arrival{ID: strings.Clone(a.ID), Time: a.Time, Edges: make([]string, len(a.Edges)),
		Features: event.Features{Sparse: a.Features.Sparse, Indices: slices.Clone(a.Features.Indices),
			Values: slices.Clone(a.Features.Values)}}
	if m.data.Values != nil { // for a schema that is fitted anew
		kept.Features.Named = m.keepNamed(a.Features.Named)
	}
	for e, id := range a.Edges {
		kept.Edges[e] = strings.Clone(id) // edges of one arrival are parts of one string
	}
	m.Dropped(kept.NormaliseEdges())
	m.arrived[kept.ID] = n
	m.arrivals = append(m.arrivals, kept)
	return nil
}

// keepNamed copies the fields of which the data have columns; nil for nil.
func (m *Merger) keepNamed(fields []schema.Field) []schema.Field {
	if fields == nil {
		return nil
	}
	kept := make([]schema.Field, 0, len(m.data.Values))
	for k := range m.data.Values {
		if v := valueOf(fields, m.data.Values[k].Name); v.Type != schema.Missing {
			v.Text, v.Vector = strings.Clone(v.Text), slices.Clone(v.Vector)
			kept = append(kept, schema.Field{Name: m.data.Values[k].Name, Value: v})
		}
	}
	return kept
}

// Label takes the next label.
func (m *Merger) Label(l *event.Label) error {
	class, known := m.Resolve(l, m.data.Classes)
	if !known {
		return nil
	}
	if before, again := m.labels[l.ID]; again && Earlier(l.Time, before.time) {
		return nil
	}
	m.labels[strings.Clone(l.ID)] = label{class, l.Time}
	return nil
}
