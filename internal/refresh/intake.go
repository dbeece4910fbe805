package refresh

import (
	"context"
	"slices"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/gather"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/schema"
	"rivulet/trainer/merge"
)

// Bounds of the records that are decoded together, whose features are looked up by one request: their number, their
// bytes and the bytes of their rows.
const (
	intakeRecords = 1024
	intakeBytes   = 16 << 20
)

// intake gathers records of arrivals, decodes them together, and passes them to a merger in their order.
type intake struct {
	o        *round
	m        *merge.Merger
	decoder  *consumer.Decoder
	features int // d
	records  gather.Batch[kafka.Record]

	refused refusals

	asked  bool  // for the schema
	unread error // why it could not be read
}

func (o *round) newIntake(m *merge.Merger) *intake {
	in := &intake{o: o, m: m, decoder: consumer.NewDecoder(o.Forms, o.Limits), features: o.Graph.X.Cols()}
	in.decoder.LookUp(o.Features, retry.Patience{Logger: o.Log})
	in.decoder.Reads(nil, m.Relations())
	in.records = gather.Batch[kafka.Record]{Do: in.decode,
		Bounds: gather.Bounds{Records: max(1, min(intakeRecords, intakeBytes/max(1, 4*in.features))), Bytes: intakeBytes},
		Size:   func(rec *kafka.Record) int { return len(rec.Key) + len(rec.Value) }}
	return in
}

// decode passes records to the merger. An error is of the store of features, or of ctx.
func (in *intake) decode(ctx context.Context, records []kafka.Record) error {
	taken, err := in.taken(ctx, records)
	if err != nil {
		return err
	}
	for i := range taken {
		in.pass(&taken[i])
	}
	return nil
}

// pass passes a message to the merger. A record that cannot be used is counted, with its reason.
func (in *intake) pass(t *consumer.Taken) {
	switch {
	case t.Fault != nil:
		in.m.Refuse(t.Fault)
		in.refused.add(t.Fault)
	case t.Kind == read.KindForget:
		in.m.Forget(t.ID)
	case t.Kind == read.KindEdge:
		if fault := in.o.Limits.CheckEdge(&t.Edge); fault != nil {
			in.m.Refuse(fault)
			in.refused.add(fault)
			return
		}
		in.m.Edge(&t.Edge)
	case t.Kind == read.KindArrival:
		in.m.Dropped(t.Dropped)
		if err := in.m.Arrival(&t.Arrival); err != nil { // the merger has counted it
			in.refused.add(err)
		}
	}
}

// taken decodes records. The schema is read for the first arrival that needs it.
func (in *intake) taken(ctx context.Context, records []kafka.Record) ([]consumer.Taken, error) {
	taken, err := in.decoder.Messages(ctx, records, in.features)
	if err != nil || in.asked || !needSchema(taken) {
		return taken, err
	}
	var s *schema.Schema
	in.asked = true
	if s, in.unread = in.o.schema(ctx); s != nil && in.o.IgnoreUnknown {
		s = s.IgnoringUnknown()
	}
	if s != nil && in.o.Forms.Mapping != nil {
		s = s.WithOptional(in.o.Forms.Mapping.Optional)
	}
	in.decoder.Reads(s, in.m.Relations())
	return in.decoder.Messages(ctx, records, in.features)
}

// needSchema reports whether an arrival was refused because the decoder has no schema, or the producer's is another
// one.
func needSchema(taken []consumer.Taken) bool {
	return slices.ContainsFunc(taken, func(t consumer.Taken) bool {
		return t.Fault != nil && t.Fault.Reason == event.ReasonSchema
	})
}

// schema returns the schema by whose positions arrivals are read; nil if there is none.
func (o *round) schema(ctx context.Context) (*schema.Schema, error) {
	if s := o.Graph.Schema; s != nil {
		return s, nil
	}
	v, err := o.serving(ctx)
	if err != nil {
		return nil, err
	}
	return o.keptSchema(v)
}
