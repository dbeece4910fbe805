package repartition

import (
	"errors"
	"slices"

	"rivulet/event"
	"rivulet/event/form"
	"rivulet/event/json"
	"rivulet/kafka"
)

// Outcome is how a record was routed.
type Outcome uint8

// Outcomes.
const (
	Node       Outcome = iota // an arrival, written under its id
	Edge                      // written under the id of each end that gets it
	Forget                    // asks to forget an id, under which it is written
	Skipped                   // neither of them, and nothing is wrong with it, such as a heartbeat of a connector
	DeadLetter                // cannot be read
	outcomes
)

// OutcomeNames are the outcomes in words.
var OutcomeNames = [outcomes]string{"node", "edge", "forget", "skipped", "dead_letter"}

// Ends says which ends of an edge get it.
type Ends string

// Values of [Ends].
const (
	Both   Ends = "both"
	Source Ends = "source"
	Target Ends = "target"
)

// edgeHeaders are the headers of an edge in Rivulet's own form.
var edgeHeaders = []kafka.Header{{Key: event.HeaderContentType, Value: []byte(json.Codec{}.ContentType())}, kindEdge}

var kindEdge = kafka.Header{Key: event.HeaderKind, Value: []byte(event.KindEdge)}

// route returns the records to write for one that was read. The error is an *[event.FieldError].
func (r *Router) route(rec *kafka.Record) ([]kafka.Record, Outcome, error) {
	size := len(rec.Key) + len(rec.Value)
	if rec.Damage != nil && !rec.Damage.TooLarge {
		return nil, DeadLetter, &event.FieldError{Reason: event.ReasonUnparsable, Detail: rec.Damage.Detail}
	} else if rec.Damage != nil {
		return nil, DeadLetter, &event.FieldError{Reason: event.ReasonTooLarge, Detail: rec.Damage.Detail}
	} else if fault := r.opts.Limits.CheckRecord(size); fault != nil {
		return nil, DeadLetter, fault
	}
	var e event.Edge
	if slices.Contains(r.opts.Edges, rec.Position.Topic) {
		if skip, err := r.readEdge(rec, &e); skip || err != nil {
			return nil, Skipped, err
		}
		return r.edge(rec, &e, r.opts.EdgeForms.Mapping != nil)
	}
	f := &r.opts.NodeForms
	if is, err := f.Edge(rec.Headers, rec.Value, &e); err != nil {
		return nil, DeadLetter, err
	} else if is {
		return r.edge(rec, &e, f.Mapping != nil)
	}
	err := f.Event(rec.Key, rec.Headers, rec.Value, &r.arrival)
	id, outcome := r.arrival.ID, Node
	if forget := (form.Forget{}); errors.As(err, &forget) {
		id, outcome, err = forget.ID, Forget, nil
	} else if errors.As(err, new(form.Skip)) {
		return nil, Skipped, nil
	}
	if err != nil {
		return nil, DeadLetter, err
	}
	return []kafka.Record{{Key: []byte(id), Value: rec.Value, Headers: rec.Headers, Time: rec.Time}}, outcome, nil
}

// readEdge reads a record of a topic of edges. skip says that it is about no edge, or about one that was deleted.
func (r *Router) readEdge(rec *kafka.Record, e *event.Edge) (skip bool, err error) {
	f := &r.opts.EdgeForms
	if f.Mapping == nil {
		if rec.Value == nil {
			return true, nil
		}
		_, err = f.Edge(append(slices.Clip(rec.Headers), kindEdge), rec.Value, e)
		return false, err
	}
	if is, err := f.Edge(rec.Headers, rec.Value, e); is {
		return false, err
	}
	if errors.As(f.Arrival(rec.Headers, rec.Value, &r.arrival), new(form.Skip)) {
		return true, nil
	}
	return false, event.Errorf(event.ReasonUnparsable, "", "the record has no two ends of an edge where "+
		"repartition.mapping.source and repartition.mapping.target look for them")
}

// edge returns the records of an edge, one for each end that gets it. As a neighbour of its target, an edge without a
// direction begins there: {"source": "a", "target": "b"} is {"source": "b", "target": "a"} under the key b.
func (r *Router) edge(rec *kafka.Record, e *event.Edge, mapped bool) (out []kafka.Record, _ Outcome, err error) {
	if fault := r.opts.Limits.CheckEdge(e); fault != nil {
		return nil, DeadLetter, fault
	}
	source, target := *e, *e
	if source.In, target.In = false, r.opts.Directed || e.In; !target.In {
		target.Source, target.Target = e.Target, e.Source
	}
	var edges []event.Edge
	if r.opts.Ends != Target {
		edges = append(edges, source)
	}
	if r.opts.Ends == Target || r.opts.Ends == Both && e.Source != e.Target {
		edges = append(edges, target)
	}
	for k := range edges {
		id, _ := edges[k].Ends()
		w := kafka.Record{Key: []byte(id), Value: rec.Value, Headers: rec.Headers, Time: rec.Time}
		if mapped || edges[k] != *e {
			w.Headers = append(slices.Clip(rec.Headers), edgeHeaders...)
			if w.Value, err = (json.Codec{}).AppendEdge(nil, &edges[k]); err != nil {
				return nil, DeadLetter, event.FaultOf(err)
			}
		} else if string(event.HeaderValue(rec.Headers, event.HeaderKind)) != event.KindEdge {
			w.Headers = append(slices.Clip(rec.Headers), kindEdge)
		}
		out = append(out, w)
	}
	return out, Edge, nil
}
