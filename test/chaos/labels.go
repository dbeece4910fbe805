package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/chaos/gauge"
	"rivulet/test/chaos/labels"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

const (
	labelledShare  = 20 // one arrival of so many has a label, whatever breaks
	labelledAtOnce = 12 // arrivals of which all labels are counted, when a fault is over
)

// sendLabelled sends an arrival under an id of its own, and labels of it; s.sending is held.
func (s *stream) sendLabelled(ctx context.Context) {
	m := s.world.arrivals[s.rng.Int64N(s.world.released.Load())]
	own, before := s.labels.Next(m.ID)
	s.sendLabels(ctx, before)
	value := bytes.Replace(s.text(&m), fmt.Appendf(nil, "%q", m.ID), fmt.Appendf(nil, "%q", own), 1)
	s.sendOne(ctx, fmt.Appendf(nil, "key-%d", s.rng.IntN(keys)), m.ID, record.Value{Bytes: value})
}

func (s *stream) sendLabels(ctx context.Context, all []event.Label) {
	for i := range all {
		value, err := json.Codec{}.AppendLabel(nil, &all[i])
		if err != nil {
			s.failed <- fmt.Errorf("%s: the label of %s: %w", s.name, all[i].ID, err)
			continue
		}
		s.sendLabel(ctx, value)
	}
}

// sendLabel sends a record to the topic of labels, behind all that were sent before.
func (s *stream) sendLabel(ctx context.Context, value []byte) {
	s.sender.Produce(ctx, &kgo.Record{Topic: s.topic("labels"), Key: []byte("all"), Value: value}, nil)
}

// counts returns what the consumers of a stream have counted of labels.
func (s *stream) counts(ctx context.Context) (all []labels.Counts, err error) {
	for _, m := range s.members[:2] {
		addr, err := m.Address()
		if err != nil {
			return nil, err
		}
		metrics, err := gauge.Metrics(ctx, "http://"+addr+"/metrics")
		if err != nil {
			return nil, err
		}
		all = append(all, labels.Of(metrics))
	}
	return all, nil
}

// labelsCounted sends labelled arrivals when a fault is over and all is answered, and compares what the consumers count
// of them. One that has just begun to read labels, or whose earlier predictions are told of late, is asked again.
func (r *run) labelsCounted(ctx context.Context) error {
	return r.atOnce(func(s *stream) error {
		if s.labels == nil {
			return nil
		}
		const tries = 5
		var violations []string
		for range tries {
			var err error
			if violations, err = s.countLabels(ctx); err != nil || len(violations) == 0 {
				return err
			}
		}
		for _, v := range violations {
			r.fail(fmt.Errorf("%s: labels: %s", s.name, v))
		}
		return nil
	})
}

func (s *stream) countLabels(ctx context.Context) (violations []string, err error) {
	goOn, err := s.pause(ctx)
	defer goOn()
	if err != nil {
		return nil, err
	}
	var is []labels.Counts
	await := func(what string, so func() bool) error {
		var last error
		err := harness.Await(ctx, patience, s.name+": "+what, func() bool {
			if is, last = s.counts(ctx); last != nil {
				return s.broken.Load()
			}
			return s.broken.Load() || so()
		})
		if err != nil {
			return fmt.Errorf("%w: %+v, account %+v: %w", err, is, s.labels.Account(), last)
		}
		return nil
	}
	if err := await("all is answered", func() bool {
		return s.ledger.AllRead() && s.ledger.Answered(ledger.Window(s.window.Load()), true)
	}); err != nil {
		return nil, err
	}
	// Labels stand in one partition: a consumer that has refused the record behind them has read all of them.
	behind := func() error {
		since := is
		s.sendLabel(ctx, s.labels.AddHostile())
		return await("a record that is no label is counted", func() bool {
			for i := range is {
				if is[i].Started == since[i].Started && is[i].Refused == since[i].Refused {
					return false
				}
			}
			return true
		})
	}
	if err := behind(); err != nil {
		return nil, err
	}
	was, before := is, s.labels.Account()
	for range labelledAtOnce {
		s.sendLabelled(ctx)
	}
	s.sendLabel(ctx, s.labels.AddHostile())
	s.sendLabel(ctx, s.labels.AddHostile())
	want := before.Right + before.Wrong + labelledAtOnce
	if err := await("labelled arrivals are predicted", func() bool {
		a := s.labels.Account()
		return a.Right+a.Wrong >= want
	}); err != nil {
		return nil, err
	}
	if err := behind(); err != nil {
		return nil, err
	}
	if s.broken.Load() {
		return nil, nil
	}
	return labels.Judge(before, s.labels.Account(), was, is), nil
}
