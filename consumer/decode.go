package consumer

import (
	"context"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/graph"
	"rivulet/kafka"
)

// decodedBatch holds a batch's records decoded, as arrivals and dead letters.
type decodedBatch struct {
	arrivals    []*slot            // records for the model, in their order
	deadLetters []event.DeadLetter // records that cannot be predicted
	skipped     []read.Skip        // records that are no arrivals but not faulty, such as deletes
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

// slot is one record of a batch, and what was read of it.
type slot struct {
	record  *kafka.Record
	joined  []event.Edge // edges of their own that the arrival has been given
	waited  bool         // for edges: all of its edges then have one order
	message read.Message
	arrival *event.Arrival // the message's
	bytes   int            // of key and value
	other   bool           // its features have names, under the hash of another schema
	dropped int            // entries of the edge list that named the arrival itself or a neighbour twice
	unread  EdgeCounts     // types and directions of edges that the version does not know
	fault   *event.FieldError
}

// arrives reports whether the record is an arrival that can be predicted.
func (s *slot) arrives() bool { return s.fault == nil && s.message.Kind == read.KindArrival }

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
		s.record, s.arrival, s.bytes = &records[i], &s.message.Arrival, len(records[i].Key)+len(records[i].Value)
		out.bytes += s.bytes
		s.joined, s.waited = in.Joined[s.record.Position]
	}
	// ParallelRows weighs multiply-adds; a byte of a record costs about four.
	graph.ParallelRows(len(records), 4*out.bytes, func(lo, hi int) {
		var text event.Text
		for i := lo; i < hi; i++ {
			s := &out.slots[i]
			var message *read.Message
			if in.Messages != nil {
				message = in.Messages[i]
			}
			if p.decodeOne(s, message, by); s.fault != nil {
				*s.arrival = event.Arrival{} // may be many times the record: a list of ids takes 16 bytes for each "1,"
			} else if p.Forms.Schemas != nil && s.arrives() {
				text.Bound(s.arrival, s.bytes, s.dropped)
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
		case s.fault != nil:
			out.deadLetters = append(out.deadLetters, s.deadLetter(s.fault.Reason, s.fault.Error()))
		case s.arrives():
			out.arrivals = append(out.arrivals, s)
		case s.message.Kind == read.KindForget:
			if out.forgets == nil {
				out.forgets = make(map[string]int)
			}
			out.forgets[s.message.ID] = len(out.arrivals)
		case s.message.Kind == read.KindEdge:
			out.skipped = append(out.skipped, read.SkipEdge) // where arrivals wait for edges, windows take them
		default:
			out.skipped = append(out.skipped, s.message.Skip)
		}
	}
	return nil
}

// deadLetter is the record set aside.
func (s *slot) deadLetter(reason, detail string) event.DeadLetter {
	return event.DeadLetter{Key: s.record.Key, Value: s.record.Value, Headers: s.record.Headers,
		Source: event.Source(s.record.Position), IngestTime: s.record.Time, Reason: reason, Detail: detail}
}

// decodeOne fills s from its record, or from the message that was read of it: with a fault, or with an arrival that the
// model can take once it has features, or with what else the record is.
func (p *Pipeline) decodeOne(s *slot, message *read.Message, by model) {
	s.dropped, s.other, s.unread = 0, false, EdgeCounts{}
	if s.fault = p.readable(s); s.fault != nil {
		return
	}
	if message != nil {
		s.message.Copy(message)
	} else {
		p.Forms.Read(read.Record{Key: s.record.Key, Value: s.record.Value, Headers: s.record.Headers}, &s.message)
	}
	if s.fault = s.message.Fault; s.message.Kind != read.KindArrival || s.fault != nil {
		if s.message.Kind == read.KindEdge {
			s.fault = nil // it is passed over
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
	if s.fault = p.Limits.CheckArrival(s.arrival, len(s.key())); s.fault != nil {
		return
	}
	s.unread = relate(s.arrival, &by.slots)
	s.dropped = s.arrival.NormaliseEdges()
}

// readable returns the fault of a record that is damaged or too large to be read.
func (p *Pipeline) readable(s *slot) *event.FieldError {
	if d := s.record.Damage; d != nil {
		fault := &event.FieldError{Reason: event.ReasonUnparsable, Detail: d.Detail}
		if d.TooLarge {
			fault.Reason = event.ReasonTooLarge
		}
		return fault
	}
	return p.Limits.CheckRecord(s.bytes)
}
