package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/kafka/retry"
)

// FeatureStore has the features of arrivals whose records hold none.
type FeatureStore interface {
	// Read sets into[i] to the features that are stored under ids[i], or faults[i] to the reason why they cannot be read.
	// An error means that the store gave no answer: the caller tries again, unless the error is permanent ([retry.Judge]).
	Read(ctx context.Context, ids []string, into []*event.Features, faults []*event.FieldError) error
}

// ErrFeatures is wrapped by an error of the store of features. Nothing of the batch has left the process: it may be
// tried again.
var ErrFeatures = errors.New("reading features by id")

// featuresOutage returns the outage of the store. All readers share it, so that it is logged and counted once.
func featuresOutage(wait retry.Patience) *retry.Outage {
	return wait.Outage(StageStore).Named("features by id", "see that the Redis of features.url (if that is empty, "+
		"of redis.url) runs and can be reached")
}

// featureRequest holds a request to the store, for one batch, and its answers.
type featureRequest struct {
	of     []*slot // arrivals without features
	ids    []string
	into   []*event.Features
	faults []*event.FieldError
	took   time.Duration
}

// fetch looks up, in one request, the features of all arrivals whose records hold none, and checks and encodes them
// like features that came with a record.
func (p *Pipeline) fetch(ctx context.Context, out *decodedBatch, by model) error {
	f := &out.fetched
	f.of, f.ids, f.into, f.took = f.of[:0], f.ids[:0], f.into[:0], 0
	if p.Features == nil {
		return nil
	}
	for i := range out.slots {
		if s := &out.slots[i]; s.arrives() && s.arrival.Features.Absent {
			f.of, f.ids, f.into = append(f.of, s), append(f.ids, s.arrival.ID), append(f.into, &s.arrival.Features)
		}
	}
	if len(f.of) == 0 {
		return nil
	}
	f.faults = zeroed(f.faults, len(f.of))
	watch := p.stopwatch()
	if err := graph.Idle(func() error { return p.Features.Read(ctx, f.ids, f.into, f.faults) }); err != nil {
		return fmt.Errorf("%w: %w", ErrFeatures, err)
	}
	watch.lap(&f.took)
	graph.ParallelRows(len(f.of), len(f.of)*4*by.features, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			s := f.of[i]
			if s.fault = f.faults[i]; s.fault == nil {
				s.fault = by.take(s)
			}
			if s.fault != nil {
				*s.arrival = event.Arrival{}
			}
		}
	})
	return nil
}

// footprint returns about how much memory it keeps, in bytes.
func (f *featureRequest) footprint() int {
	const text, pointer = int(unsafe.Sizeof("")), int(unsafe.Sizeof(f))
	return text*cap(f.ids) + pointer*(cap(f.of)+cap(f.into)+cap(f.faults))
}
