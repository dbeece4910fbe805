package consumer

import (
	"rivulet/event"
	"rivulet/internal/kafka"
	"rivulet/schema"
)

// Decoder decodes records one at a time, by the rules of a [Pipeline] with the same codec and limits: whoever merges
// arrivals into the graph takes those that are predicted, and no others.
type Decoder struct {
	path   Pipeline // no more than its codec and limits
	schema *schema.Schema
	slot   slot
}

// NewDecoder returns a decoder. codec is for records that have no content-type header; nil means JSON.
func NewDecoder(codec event.Codec, limits Limits) *Decoder {
	if codec == nil {
		codec = event.JSON{}
	}
	return &Decoder{path: Pipeline{PipelineOptions: PipelineOptions{Codec: codec, Limits: limits}}}
}

// ByName has the decoder make rows of arrivals whose features are by name; nil refuses them.
func (o *Decoder) ByName(s *schema.Schema) { o.schema = s }

// Arrival returns the arrival of a record for a model of d raw features; it is valid until the next call. Its edges
// are distinct and do not name itself, dropped is how many entries did not stay. An error, an [*event.FieldError],
// is what a dead letter of the record would say.
func (o *Decoder) Arrival(rec *kafka.Record, d int) (a *event.Arrival, dropped int, err error) {
	o.slot.record, o.slot.bytes = rec, len(rec.Key)+len(rec.Value)
	if o.path.decodeOne(&o.slot, model{features: d, schema: o.schema}); o.slot.fault != nil {
		return nil, 0, o.slot.fault
	}
	return &o.slot.arrival, o.slot.dropped, nil
}
