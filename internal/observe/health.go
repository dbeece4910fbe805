package observe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"rivulet/consumer"
	"rivulet/consumer/window"
	"rivulet/internal/monitor"
	"rivulet/kafka"
)

// health knows whether the consumer's loop moves and whether the consumer takes part in its group.
type health struct {
	clock      consumer.Clock
	version    func() string
	trouble    func() error
	stallAfter time.Duration

	noGroup bool

	mu         sync.Mutex
	lastSign   time.Time
	paused     time.Time // until when brokers asked for a pause, by a quota
	inGroup    bool
	partitions int
	stalled    time.Time                             // when a batch began to wait for something; zero: none waits
	stalledBy  string                                // the thing that it waits for, and the error
	startsBy   string                                // what the consumer waits for outside of its group, and the error
	overdue    map[kafka.TopicPartition]window.Stats // of partitions whose arrivals wait too long for edges
}

// batchStages are the stages in which a batch waits; it is delivered once the wait is over.
var batchStages = []string{consumer.StageLookup, consumer.StageRows, consumer.StageStore, consumer.StagePublish}

// startStages are the stages in which a consumer waits before it is in its group.
var startStages = []string{consumer.StageVersion, consumer.StageTopics, consumer.StageGroup, consumer.StageOffsets}

// retried notes that an attempt failed and will be repeated.
func (h *health) retried(stage string, err error) {
	h.sign()
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(startStages, stage) {
		h.startsBy = strings.ReplaceAll(fmt.Sprintf("%s: %v", stage, err), "\n", "; ")
	}
	if !slices.Contains(batchStages, stage) {
		return
	}
	if h.stalled.IsZero() {
		h.stalled = h.lastSign
	}
	h.stalledBy = fmt.Sprintf("%s: %v", stage, err)
}

// throttled notes a pause that a broker asked for: until it is over, silence is no fault.
func (h *health) throttled(pause time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until := h.clock.Now().Add(pause); until.After(h.paused) {
		h.paused = until
	}
}

// waits notes how the arrivals of a partition wait for edges.
func (h *health) waits(at kafka.TopicPartition, s window.Stats) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.overdue, at); s.Overdue > 0 {
		h.overdue[at] = s
	}
}

// delivered notes that a batch was delivered.
func (h *health) delivered() {
	h.mu.Lock()
	h.lastSign, h.stalled = h.clock.Now(), time.Time{}
	h.mu.Unlock()
}

// stalledFor returns how long the stream has stood, and why.
func (h *health) stalledFor() (time.Duration, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stalled.IsZero() {
		return h.clock.Now().Sub(h.stalled), h.stalledBy
	}
	var longest window.Stats
	for _, s := range h.overdue {
		if s.Overdue > longest.Overdue {
			longest = s
		}
	}
	if longest.Overdue == 0 {
		return 0, ""
	}
	first := longest.First
	return longest.Overdue, fmt.Sprintf("the arrival at offset %d of %s/%d has held its partition for %s, as no "+
		"timestamp there has passed its own by attach.wait", first.Offset, first.Topic, first.Partition,
		longest.Held.Round(time.Second))
}

func newHealth(opts monitor.Options) *health {
	if opts.Trouble == nil {
		opts.Trouble = func() error { return nil }
	}
	return &health{clock: opts.Clock, version: opts.Version, trouble: opts.Trouble, stallAfter: opts.StallAfter,
		noGroup: opts.NoGroup, overdue: make(map[kafka.TopicPartition]window.Stats)}
}

// sign records that the loop moves.
func (h *health) sign() {
	h.mu.Lock()
	h.lastSign = h.clock.Now()
	h.mu.Unlock()
}

func (h *health) joined(partitions int) {
	h.mu.Lock()
	h.lastSign, h.inGroup, h.partitions, h.stalled = h.clock.Now(), true, partitions, time.Time{}
	h.startsBy = ""
	clear(h.overdue)
	h.mu.Unlock()
}

func (h *health) left() {
	h.mu.Lock()
	h.inGroup, h.partitions = false, 0
	h.mu.Unlock()
}

// alive fails if partitions are assigned and nothing was fetched, retried or delivered for a long time.
func (h *health) alive() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.lastSign
	if h.paused.After(last) {
		last = h.paused
	}
	if silent := h.clock.Now().Sub(last); h.partitions > 0 && silent > h.stallAfter {
		return fmt.Errorf("the consumer has %d partitions and was silent for %s", h.partitions, silent.Round(time.Second))
	}
	return nil
}

// ready returns an error with everything that is still missing.
func (h *health) ready() error {
	h.mu.Lock()
	inGroup, why := h.inGroup, h.startsBy
	h.mu.Unlock()
	var noArtifact, noGroup, stalled error
	if why != "" {
		why = ": " + why
	}
	if h.version() == "" {
		noArtifact = errors.New("no artifact is loaded")
		if trouble := h.trouble(); trouble != nil {
			noArtifact = fmt.Errorf("%w: %s", noArtifact, strings.ReplaceAll(trouble.Error(), "\n", "; "))
		}
		why = "" // that it waits for one
	}
	if !inGroup && !h.noGroup {
		noGroup = errors.New("the consumer group is not joined" + why)
	}
	if lasts, why := h.stalledFor(); lasts >= monitor.ReadyWithin {
		stalled = fmt.Errorf("the stream has stood for %s: %s", lasts.Round(time.Second), why)
	}
	return errors.Join(noArtifact, noGroup, stalled)
}
