package consumer

import (
	"rivulet/event"
	"rivulet/internal/kafka"
	"rivulet/schema"
)

// Decoder decodes records one at a time, by the rules of a [Pipeline] with the same forms and limits. A refresh uses it,
// so that it merges exactly those arrivals into the graph that a consumer predicts.
type Decoder struct {
	path   Pipeline // no more than its forms and limits
	schema *schema.Schema
	slot   slot
}

// NewDecoder returns a decoder of records of these forms.
func NewDecoder(forms event.Forms, limits Limits) *Decoder {
	return &Decoder{path: Pipeline{PipelineOptions: PipelineOptions{Forms: forms, Limits: limits}}}
}

// ByName has the decoder make rows of arrivals whose features are by name; nil refuses them.
func (o *Decoder) ByName(s *schema.Schema) { o.schema = s }

// Arrival returns the arrival of a record for a model of d raw features; it is valid until the next call. Its edges
// are distinct and do not name itself, dropped is how many entries did not stay. An error, an [*event.FieldError],
// has the reason that a dead letter of the record would have; an [event.Skip] says that the record is no arrival.
func (o *Decoder) Arrival(rec *kafka.Record, d int) (a *event.Arrival, dropped int, err error) {
	o.slot.record, o.slot.bytes = rec, len(rec.Key)+len(rec.Value)
	switch o.path.decodeOne(&o.slot, model{features: d, schema: o.schema}); {
	case o.slot.skip != "":
		return nil, 0, o.slot.skip
	case o.slot.fault != nil:
		return nil, 0, o.slot.fault
	}
	return &o.slot.arrival, o.slot.dropped, nil
}
