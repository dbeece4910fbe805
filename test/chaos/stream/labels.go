package stream

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/event/json"
)

const labelledShare = 20 // one arrival of so many has a label, whatever breaks

// SendLabelled sends an arrival under an id of its own, and labels of it; s.Sending is held.
func (s *Stream) SendLabelled(ctx context.Context) {
	m := s.world.Arrivals[s.rng.Int64N(s.world.Released.Load())]
	own, before := s.Labels.Next(m.ID)
	s.sendLabels(ctx, before)
	a := *m.Decoded
	if a.ID = own; s.log != nil {
		a.EdgeCount = len(a.Edges) // it has all its edges, and waits for none
	}
	s.SendOne(ctx, fmt.Appendf(nil, "key-%d", s.rng.IntN(keys)), m.ID, s.write(&a))
}

func (s *Stream) sendLabels(ctx context.Context, all []event.Label) {
	for i := range all {
		value, err := json.Codec{}.AppendLabel(nil, &all[i])
		s.check(err)
		s.SendLabel(ctx, value)
	}
}

// SendLabel sends a record to the topic of labels, behind all that were sent before.
func (s *Stream) SendLabel(ctx context.Context, value []byte) {
	s.Sender.Produce(ctx, &kgo.Record{Topic: s.Topic("labels"), Key: []byte("all"), Value: value}, nil)
}
