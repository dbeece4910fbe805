package merge

import (
	"errors"
	"slices"
	"strings"
	"time"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/schema"
)

// role is the role of a node of the data.
type role uint8

const (
	inNone role = iota
	inTrain
	inUnlabelled
	inHeldOut // validation or test
)

// DefaultWaiting is how many edges wait for ids that have not arrived, unless [Merger.MaxWaiting] says something
// else; in memory one takes some 50 bytes and its id.
const DefaultWaiting = 1_000_000

// Merger gathers arrivals and labels for one data set. It is used by one goroutine at a time.
type Merger struct {
	// MaxWaiting is how many edges to ids that have not arrived are kept with the data, the latest ones; 0: none.
	MaxWaiting int

	data  *dataset.Dataset
	index map[string]int32 // node of each id of the data
	roles []role

	arrivals []event.Arrival
	arrived  map[string]bool // ids of arrivals
	labels   map[string]label
	report   Report
}

// label is the latest label of a node.
type label struct {
	class int32
	time  time.Time
}

// New returns a merger for a data set, which it does not change.
func New(d *dataset.Dataset) *Merger {
	m := &Merger{MaxWaiting: DefaultWaiting, data: d, index: make(map[string]int32, len(d.IDs)), roles: make([]role, len(d.IDs)),
		arrived: map[string]bool{}, labels: map[string]label{},
		report: Report{Refused: map[string]int{}, UnknownClass: map[string]int{}, LabelRefused: map[string]int{}}}
	for i, id := range d.IDs {
		m.index[id] = int32(i)
	}
	for _, of := range []struct {
		role  role
		nodes []int32
	}{{inTrain, d.Train}, {inUnlabelled, d.Unlabelled}, {inHeldOut, d.Validation}, {inHeldOut, d.Test}} {
		for _, i := range of.nodes {
			m.roles[i] = of.role
		}
	}
	return m
}

// Arrival takes the next arrival and copies the parts that it keeps. One whose features do not fit the data is
// counted by its reason, and the error, an *event.FieldError, names the field. Limits are the caller's: it must give
// only arrivals that a consumer would take.
func (m *Merger) Arrival(a *event.Arrival) error {
	if err := a.Check(m.data.X.Cols(), 0); err != nil {
		m.Refuse(err)
		return err
	}
	m.report.Arrivals++
	if i, known := m.index[a.ID]; known {
		switch m.roles[i] {
		case inTrain, inUnlabelled:
			m.report.InT++
			return nil
		case inHeldOut:
			m.report.HeldOut++
			return nil
		case inNone: // joins
		}
	}
	if m.arrived[a.ID] {
		m.report.Again++
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
	m.arrived[kept.ID] = true
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

// Dropped counts entries of edge lists that were dropped before their arrival was given to [Merger.Arrival].
func (m *Merger) Dropped(entries int) { m.report.DroppedEdges += entries }

// Refuse counts a record that could not be decoded into an arrival, by the reason that the codec gave.
func (m *Merger) Refuse(err error) { m.report.Refused[reason(err)]++ }

// Label takes the next label.
func (m *Merger) Label(l *event.Label) {
	m.report.Labels++
	class, known := l.Resolve(m.data.Classes)
	if !known {
		m.report.UnknownClass[l.Word()]++
		return
	}
	before, again := m.labels[l.ID]
	if again && !l.Time.IsZero() && !before.time.IsZero() && l.Time.Before(before.time) {
		return
	}
	m.labels[strings.Clone(l.ID)] = label{int32(class), l.Time}
}

// RefuseLabel counts a record that could not be decoded into a label.
func (m *Merger) RefuseLabel(err error) { m.report.LabelRefused[reason(err)]++ }

func reason(err error) string {
	var field *event.FieldError
	if errors.As(err, &field) {
		return field.Reason
	}
	return event.ReasonUnparsable
}
