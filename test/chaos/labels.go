package main

import (
	"context"
	"fmt"

	"rivulet/test/chaos/gauge"
	"rivulet/test/chaos/labels"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/stream"
	"rivulet/test/harness"
)

const labelledAtOnce = 12 // arrivals of which all labels are counted, when a fault is over

// counts returns what the consumers of a stream have counted of labels.
func counts(ctx context.Context, s *stream.Stream) (all []labels.Counts, err error) {
	for _, m := range s.Members[:2] {
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
	return r.atOnce(func(s *stream.Stream) error {
		if s.Labels == nil {
			return nil
		}
		const tries = 5
		var violations []string
		for range tries {
			var err error
			if violations, err = countLabels(ctx, s); err != nil || len(violations) == 0 {
				return err
			}
		}
		for _, v := range violations {
			r.fail(fmt.Errorf("%s: labels: %s", s.Name, v))
		}
		return nil
	})
}

func countLabels(ctx context.Context, s *stream.Stream) (violations []string, err error) {
	goOn, err := s.Pause(ctx)
	defer goOn()
	if err != nil {
		return nil, err
	}
	var is []labels.Counts
	await := func(what string, so func() bool) error {
		var last error
		err := harness.Await(ctx, patience, s.Name+": "+what, func() bool {
			if is, last = counts(ctx, s); last != nil {
				return s.Broken.Load()
			}
			return s.Broken.Load() || so()
		})
		if err != nil {
			return fmt.Errorf("%w: %+v, account %+v: %w", err, is, s.Labels.Account(), last)
		}
		return nil
	}
	if err := await("all is answered", func() bool {
		return s.AllRead() && s.Ledger.Answered(ledger.Window(s.Window.Load()), true)
	}); err != nil {
		return nil, err
	}
	// Labels stand in one partition: a consumer that has refused the record behind them has read all of them.
	behind := func() error {
		since := is
		s.SendLabel(ctx, s.Labels.AddHostile())
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
	was, before := is, s.Labels.Account()
	for range labelledAtOnce {
		s.SendLabelled(ctx)
	}
	s.SendLabel(ctx, s.Labels.AddHostile())
	s.SendLabel(ctx, s.Labels.AddHostile())
	want := before.Right + before.Wrong + labelledAtOnce
	if err := await("labelled arrivals are predicted", func() bool {
		a := s.Labels.Account()
		return a.Right+a.Wrong >= want
	}); err != nil {
		return nil, err
	}
	if err := behind(); err != nil {
		return nil, err
	}
	if s.Broken.Load() {
		return nil, nil
	}
	return labels.Judge(before, s.Labels.Account(), was, is), nil
}
