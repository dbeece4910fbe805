package main

import (
	"bytes"
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"slices"
)

// grouped is a prediction of a graph batch in which some arrival was its neighbour.
type grouped struct {
	at       place
	id       string
	hash     uint64
	degraded bool
}

// groupsChecked is how many graph batches are predicted again at the end.
const groupsChecked = 100

// checkGroups predicts graph batches of exactly_once streams again, without any service: each arrival must get the
// same bits. A prediction depends on its connected component alone, so that a batch's arrivals without neighbours in
// it need not be there. Batches of several partitions are left out, because their order is not known, and those of
// two arrivals with one id.
func (r *run) checkGroups(ctx context.Context) error {
	for _, s := range r.streams {
		if s.mode != "graph" || !s.ledger.exactlyOnce {
			continue
		}
		left := groupsChecked
		for _, name := range slices.Sorted(maps.Keys(s.ledger.grouped)) {
			all := s.ledger.grouped[name]
			slices.SortFunc(all, func(a, b grouped) int { return cmp.Compare(a.at.offset, b.at.offset) })
			if left > 0 && whole(all) {
				left--
				if err := s.checkGroup(ctx, s.ledger.batches[name], all); err != nil {
					return err
				}
			}
		}
		if len(s.ledger.grouped) > 0 {
			r.world.say("%s: %d graph batches were predicted again", s.name, groupsChecked-left)
		}
	}
	return nil
}

// whole reports whether the predictions of a batch can be made again.
func whole(all []grouped) bool {
	ids := map[string]bool{}
	for _, g := range all {
		if g.at.partition != all[0].at.partition || g.degraded || ids[g.id] {
			return false
		}
		ids[g.id] = true
	}
	return true
}

// checkGroup predicts one batch again with its version.
func (s *stream) checkGroup(ctx context.Context, version string, all []grouped) error {
	var lines bytes.Buffer
	for _, g := range all {
		lines.Write(s.world.byID[g.id].value)
		lines.WriteByte('\n')
	}
	s.world.mu.Lock()
	dir := s.world.dirs[version]
	s.world.mu.Unlock()
	says, err := s.world.predict(ctx, dir, "graph", &lines)
	if err != nil {
		return err
	}
	for _, g := range all {
		if maphash.String(s.ledger.seed, says[g.id]) != g.hash {
			s.ledger.different(g.at, version, says[g.id])
		}
	}
	return nil
}

// different records that a prediction differs from what its version says.
func (l *ledger) different(at place, version, want string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entry(at).different++
	l.violated("%v: version %s does not say in a graph batch: %s", at, version, want)
}
