package main

import (
	"bytes"
	"context"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
)

// groupsChecked is how many graph batches are predicted again at the end.
const groupsChecked = 100

// checkGroups predicts graph batches of exactly_once streams again, without any service: each arrival must get the
// same bits. A prediction depends on its connected component alone, so that a batch's arrivals without neighbours in
// it need not be there.
func (r *run) checkGroups(ctx context.Context) error {
	for _, s := range r.streams {
		if s.mode != "graph" || s.delivery != "exactly_once" {
			continue
		}
		groups, of := s.ledger.Groups(groupsChecked)
		for _, g := range groups {
			if err := s.checkGroup(ctx, g); err != nil {
				return err
			}
		}
		if of > 0 {
			r.world.say("%s: %d graph batches were predicted again", s.name, len(groups))
		}
	}
	return nil
}

// checkGroup predicts one batch again with its version.
func (s *stream) checkGroup(ctx context.Context, group ledger.Group) error {
	var lines bytes.Buffer
	for _, g := range group.All {
		lines.Write(s.world.byID[g.ID].Value[record.JSON])
		lines.WriteByte('\n')
	}
	s.world.mu.Lock()
	dir := s.world.dirs[group.Version]
	s.world.mu.Unlock()
	says, err := s.world.predict(ctx, dir, "graph", &lines)
	if err == nil {
		s.ledger.Compare(group, says)
	}
	return err
}
