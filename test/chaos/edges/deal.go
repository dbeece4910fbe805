package edges

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Deal says how an arrival and its edges are sent.
type Deal struct {
	Own   []string      // neighbours in the arrival's own record
	Count int           // its edge_count
	After time.Duration // until its record is sent
	Edges []EdgeDeal
}

// EdgeDeal is an edge that is sent as a record of its own.
type EdgeDeal struct {
	Neighbour string
	After     time.Duration
}

// NewDeal draws a way of sending an arrival with some neighbours: up to four of them apart, before and after the
// arrival in a random order. Of six deals, four are complete within the wait, one has an edge_count that is too high by
// one, and one may have edges that come after the wait, up to five times as late.
func NewDeal(neighbours []string, rng *rand.Rand, wait time.Duration) Deal {
	all := slices.Clone(neighbours)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	n := min(len(all), 1+rng.IntN(4))
	soon := func() time.Duration { return time.Duration(rng.Int64N(int64(wait / 2))) }
	d := Deal{Own: all[n:], Count: len(all), After: soon()}
	kind := rng.IntN(6)
	for _, id := range all[:n] {
		one := EdgeDeal{id, soon()}
		if kind == 0 && rng.IntN(2) == 0 {
			one.After += d.After + 2*wait + time.Duration(rng.Int64N(int64(4*wait)))
		}
		d.Edges = append(d.Edges, one)
	}
	if kind == 1 {
		d.Count++
	}
	return d
}
