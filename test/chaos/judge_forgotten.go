package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"rivulet/test/chaos/forget"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/stream"
)

// checkForgotten looks in both Redis servers for forgotten ids, and records an error for each that is still there. An
// id is forgotten when the offset of the record that asks to forget it is committed. If all is set, every offset is.
func (r *run) checkForgotten(ctx context.Context, all bool) error {
	committed := map[*stream.Stream]map[int]int64{}
	for _, s := range r.streams {
		if s.Forgotten == nil {
			continue
		}
		offsets, err := r.world.Kafka.FetchOffsets(ctx, s.Name)
		if err != nil {
			return fmt.Errorf("%s: reading what is committed: %w", s.Name, err)
		}
		committed[s] = map[int]int64{}
		for p, o := range offsets[s.Topic("arrivals")] {
			committed[s][int(p)] = o.At
		}
	}
	if len(committed) == 0 || r.dealt[len(r.dealt)-1].lost > 0 { // Redis may have lost the removal of an id
		return nil
	}
	features := r.world.Stored.Client()
	defer func() { _ = features.Close() }()
	ids, err := forget.Find(ctx, r.world.Store)
	more, failed := forget.Find(ctx, features)
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("looking for ids that were forgotten: %w", err)
	}
	for s := range committed {
		life := s.Life()
		for _, id := range slices.Concat(ids, more) {
			if s.Forgotten.Stored(id, func(at ledger.Place) int64 {
				switch {
				case all:
					return math.MaxInt64
				case at.Life != life:
					return 0
				}
				return committed[s][at.Partition]
			}) {
				r.fail(fmt.Errorf("%s: %s was forgotten, and Redis has it", s.Kind, id))
			}
		}
	}
	return nil
}
