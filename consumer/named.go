package consumer

import (
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/version"
	"rivulet/schema"
)

// model holds the properties of the version that predicts which decoding needs.
type model struct {
	features int            // d
	schema   *schema.Schema // nil: features have positions only
	slots    graph.Slots    // of edges
	tally    *schema.Tally  // counts values that rows do not tell; nil: features have positions only
}

func (p *Pipeline) model(info *version.Info) model {
	m := model{features: info.Features, slots: info.Slots, schema: info.Schema}
	if m.schema != nil && p.IgnoreUnknown {
		m.schema = m.schema.IgnoringUnknown()
	}
	if m.schema != nil && p.Forms.Mapping != nil {
		m.schema = m.schema.WithOptional(p.Forms.Mapping.Optional)
	}
	if m.schema != nil {
		m.tally = &schema.Tally{}
		m.schema = m.schema.Counting(m.tally)
	}
	return m
}

// take makes the arrival's features a row for the model, or returns their fault.
func (m model) take(s *slot) *event.FieldError {
	if err := m.name(s); err != nil {
		return event.FaultOf(err)
	}
	if err := s.arrival.Features.Check(m.features); err != nil {
		return event.FaultOf(err)
	}
	return CheckMagnitudes(&s.arrival.Features)
}

// name makes the row of features by name, and compares the hash of the producer's schema. It returns an
// *[event.FieldError] where they cannot be used.
func (m model) name(s *slot) error {
	hash, has := string(event.HeaderValue(s.record.Headers, event.HeaderSchema)), ""
	if m.schema != nil {
		has = m.schema.Hash()
	}
	switch named := s.arrival.Features.Named != nil; {
	case named && m.schema == nil:
		return &event.FieldError{Reason: event.ReasonSchema, Field: "features.named",
			Detail: "the artifact has no schema, it takes features by position"}
	case named:
		s.other = hash != "" && hash != has
		return s.arrival.Features.Encode(m.schema)
	case hash != "" && hash != has:
		return &event.FieldError{Reason: event.ReasonSchema, Field: event.HeaderSchema,
			Detail: "features are by position of another schema than the artifact's: send them by name, or by its positions"}
	}
	return nil
}
