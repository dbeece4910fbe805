package observe

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"rivulet/consumer"
)

// health knows whether the consumer's loop moves and whether the consumer takes part in its group.
type health struct {
	clock      consumer.Clock
	version    func() string
	stallAfter time.Duration

	noGroup bool

	mu         sync.Mutex
	lastSign   time.Time
	inGroup    bool
	partitions int
}

func newHealth(opts Options) *health {
	return &health{clock: opts.Clock, version: opts.Version, stallAfter: opts.StallAfter, noGroup: opts.NoGroup}
}

// sign records that the loop moves.
func (h *health) sign() {
	h.mu.Lock()
	h.lastSign = h.clock.Now()
	h.mu.Unlock()
}

func (h *health) joined(partitions int) {
	h.mu.Lock()
	h.lastSign, h.inGroup, h.partitions = h.clock.Now(), true, partitions
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
	if silent := h.clock.Now().Sub(h.lastSign); h.partitions > 0 && silent > h.stallAfter {
		return fmt.Errorf("the consumer has %d partitions and was silent for %s", h.partitions,
			silent.Round(time.Second))
	}
	return nil
}

// ready returns an error with everything that is still missing.
func (h *health) ready() error {
	h.mu.Lock()
	inGroup := h.inGroup
	h.mu.Unlock()
	var noArtifact, noGroup error
	if h.version() == "" {
		noArtifact = errors.New("no artifact is loaded")
	}
	if !inGroup && !h.noGroup {
		noGroup = errors.New("the consumer group is not joined")
	}
	return errors.Join(noArtifact, noGroup)
}
