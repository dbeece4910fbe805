package consumer

import (
	"context"
	"errors"

	"rivulet/event"
	"rivulet/event/form"
	"rivulet/graph"
	"rivulet/kafka"
)

// decodedBatch holds a batch's records decoded, as arrivals and dead letters.
type decodedBatch struct {
	arrivals    []*slot            // records for the model, in their order
	deadLetters []event.DeadLetter // records that cannot be predicted
	skipped     []form.Skip        // records that are no arrivals but not faulty, such as deletes
	// forgets has the ids that records ask to forget, each with the number of arrivals before the last such record
	forgets   map[string]int
	bytes     int         // of all keys and values
	unmatched [][2]string // ends of edges of their own without an arrival

	slots   []slot         // one per record
	by      model          // the version that predicts
	fetched featureRequest // features.go: features that were looked up
}

// NeighboursOf returns the ids of the neighbours of arrival i.
func (d *decodedBatch) NeighboursOf(i int) []string { return d.arrivals[i].arrival.Edges }

// slot is one record of a batch, and the arrival that it holds.
type slot struct {
	record  *kafka.Record
	joined  []event.Edge // edges of their own that the arrival has been given
	waited  bool         // for edges: all of its edges then have one order
	arrival event.Arrival
	bytes   int        // of key and value
	other   bool       // its features have names, under the hash of another schema
	dropped int        // entries of the edge list that named the arrival itself or a neighbour twice
	unread  EdgeCounts // types and directions of edges that the version does not know
	fault   *event.FieldError
	skip    form.Skip   // why the record is passed over; empty if it is not
	forget  form.Forget // what the record asks to forget; the zero value if it is an arrival
}

// arrives reports whether the record is an arrival.
func (s *slot) arrives() bool { return s.fault == nil && s.skip == "" && s.forget.ID == "" }

// key is the key under which the prediction is published.
func (s *slot) key() []byte {
	if s.arrival.Key != nil {
		return s.arrival.Key
	}
	return s.record.Key
}

// decode turns records into arrivals that a model can take, and the rest into dead letters; features that a record
// does not bring are looked up. Large batches are decoded on several processors.
func (p *Pipeline) decode(ctx context.Context, out *decodedBatch, in Intake, by model) error {
	records := in.Records
	out.slots, out.bytes, out.by, out.unmatched = sized(out.slots, len(records)), 0, by, in.Unmatched
	for i := range records {
		s := &out.slots[i]
		s.record, s.bytes = &records[i], len(records[i].Key)+len(records[i].Value)
		out.bytes += s.bytes
		s.joined, s.waited = in.Joined[s.record.Position]
	}
	// ParallelRows weighs multiply-adds; a byte of a record costs about four.
	graph.ParallelRows(len(records), 4*out.bytes, func(lo, hi int) {
		var text event.Text
		for i := lo; i < hi; i++ {
			s := &out.slots[i]
			if p.decodeOne(s, by); !s.arrives() {
				s.arrival = event.Arrival{} // may be many times the record: a list of ids takes 16 bytes for each "1,"
			} else if p.Forms.Schemas != nil {
				text.Bound(&s.arrival, s.bytes, s.dropped)
			}
		}
	})
	if err := p.fetch(ctx, out, by); err != nil {
		return err
	}
	out.arrivals, out.deadLetters, out.skipped = out.arrivals[:0], append(out.deadLetters[:0], in.DeadLetters...),
		out.skipped[:0]
	clear(out.forgets)
	for i := range out.slots {
		switch s := &out.slots[i]; {
		case s.forget.ID != "":
			if out.forgets == nil {
				out.forgets = make(map[string]int)
			}
			out.forgets[s.forget.ID] = len(out.arrivals)
		case s.skip != "":
			out.skipped = append(out.skipped, s.skip)
		case s.fault == nil:
			out.arrivals = append(out.arrivals, s)
		default:
			out.deadLetters = append(out.deadLetters, s.deadLetter(s.fault.Reason, s.fault.Error()))
		}
	}
	return nil
}

// deadLetter is the record set aside.
func (s *slot) deadLetter(reason, detail string) event.DeadLetter {
	return event.DeadLetter{Key: s.record.Key, Value: s.record.Value, Headers: s.record.Headers,
		Source: event.Source(s.record.Position), IngestTime: s.record.Time, Reason: reason, Detail: detail}
}

// decodeOne fills s from its record: with a fault, or with an arrival that the model can take once it has features.
func (p *Pipeline) decodeOne(s *slot, by model) {
	s.fault, s.skip, s.forget, s.dropped, s.other = nil, "", form.Forget{}, 0, false
	if d := s.record.Damage; d != nil {
		s.fault = &event.FieldError{Reason: event.ReasonUnparsable, Detail: d.Detail}
		if d.TooLarge {
			s.fault.Reason = event.ReasonTooLarge
		}
		return
	}
	if s.fault = p.Limits.CheckRecord(s.bytes); s.fault != nil {
		return
	}
	if err := p.Forms.Event(s.record.Key, s.record.Headers, s.record.Value, &s.arrival); err != nil {
		if !errors.As(err, &s.forget) && !errors.As(err, &s.skip) {
			s.fault = event.FaultOf(err)
		}
		return
	}
	if !s.arrival.Features.Absent {
		if s.fault = by.take(s); s.fault != nil {
			return
		}
	}
	if s.waited {
		s.arrival.Join(s.joined)
	}
	if s.fault = p.Limits.CheckArrival(&s.arrival, len(s.key())); s.fault != nil {
		return
	}
	s.unread = relate(&s.arrival, by.relations)
	s.dropped = s.arrival.NormaliseEdges()
}
