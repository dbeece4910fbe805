package demo

import (
	"context"
	"fmt"
	"time"

	"rivulet/consumer"
	"rivulet/internal/cli"
	"rivulet/internal/quantile"
)

// look is the pause between two looks at the stream's progress.
const look = 20 * time.Millisecond

// until returns once done returns true, or with the first error from failed before that; nil: nothing else can fail. It
// takes no error from failed that the caller still waits for.
func until(ctx context.Context, done func() bool, failed chan error) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for !done() {
		select {
		case err := <-failed:
			failed <- nil
			return fmt.Errorf("the stream ended early: %w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
	return nil
}

// settle waits until all arrivals are predicted or dead, and the labels of predictions have been compared with
// them, or until nothing has moved for patience, and shows the progress. While all arrivals sent so far are
// settled, nothing needs to move.
func (t *tally) settle(ctx context.Context, arrivals int, failed chan error, lines *cli.Lines,
	line func() string) error {
	defer lines.Done()
	before, moved := -1, t.now()
	return until(ctx, func() bool {
		settled, compared, all := t.settled(), 0, true
		if l := t.byLabels(); l != nil {
			compared, all = l.Matched, l.Matched >= t.labeller.expected()
		}
		if settled+compared != before || (settled >= t.handed() && settled < arrivals) {
			before, moved = settled+compared, t.now()
		}
		lines.Live(line())
		return (settled >= arrivals && all) || t.now().Sub(moved) > patience
	}, failed)
}

// line returns the stream's progress in words.
func (t *tally) line() string {
	sorted, rate, byLabels := t.latencies(), t.rate(), ""
	if l := t.byLabels(); l != nil {
		byLabels = "; by labels " + l.text()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("arrived %d, predicted %d, %.0f nodes/s, p50 %.1f ms, p99 %.1f ms, accuracy %.2f%%%s",
		len(t.sent), len(t.answers), rate, quantile.Of(sorted, 0.5), quantile.Of(sorted, 0.99),
		share(t.right, t.tested), byLabels)
}

// report returns the figures that the tally knows by itself.
func (t *tally) report(arrivals int) *Report {
	sorted, queued, rate, byLabels := t.latencies(), t.queueing(), t.rate(), t.byLabels()
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &Report{Labels: byLabels, Arrivals: len(t.sent), Predicted: len(t.answers), DeadLetters: t.deadLetters,
		NodesPerSecond: rate,
		Duplicates:     t.predictions - len(t.answers), Missing: arrivals - len(t.answers) - t.deadLetters,
		Latency:  Latency{quantile.Of(sorted, 0.5), quantile.Of(sorted, 0.99), quantile.Of(sorted, 1)},
		Queueing: Latency{quantile.Of(queued, 0.5), quantile.Of(queued, 0.99), quantile.Of(queued, 1)},
		Batches:  t.stages.batches, Accuracy: share(t.right, t.tested)}
	r.Shares = t.stages.shares(t.last.Sub(t.first))
	return r
}

// shares returns the shares of the lanes' time: a lane is in one stage at a time, or waits for arrivals or for the
// lane before it.
func (s *stages) shares(took time.Duration) Shares {
	all := float64(took) * consumer.DefaultLanes
	if all <= 0 {
		return Shares{}
	}
	part := func(d time.Duration) float64 { return float64(d) / all }
	r := Shares{Decode: part(s.decode), Lookup: part(s.lookup), Infer: part(s.attach + s.infer), Publish: part(s.publish)}
	r.Rest = 1 - r.Decode - r.Lookup - r.Infer - r.Publish
	return r
}
