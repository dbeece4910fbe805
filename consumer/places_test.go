package consumer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPlacesIsAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var n neighbours
	for _, size := range []int{0, 1, 2, 500} {
		n.place.clear(size)
		n.ids = nil
		want := make(map[string]int32)
		for range size {
			id := fmt.Sprint(rng.IntN(1 + size/2))
			if _, seen := want[id]; !seen {
				want[id] = int32(len(want))
			}
			if got := n.add(id); got != want[id] {
				t.Fatalf("%d ids: %q is at %d, want %d", size, id, got, want[id])
			}
		}
		if len(n.ids) != len(want) {
			t.Errorf("%d distinct ids, want %d", len(n.ids), len(want))
		}
		for id, k := range want {
			if n.ids[k] != id {
				t.Errorf("ids[%d] = %q, want %q", k, n.ids[k], id)
			}
		}
	}
}

func TestPlacesAtItsLimit(t *testing.T) {
	var n neighbours
	n.place.clear(1000)
	for i := range 1000 {
		n.add(fmt.Sprint(i))
	}
	if free := len(n.place.slots) - 1000; free < 1000 {
		t.Errorf("%d slots are free, want at least half", free)
	}
	n.place.clear(0)
	n.ids = n.ids[:0]
	if i := slices.IndexFunc(n.place.slots, func(k int32) bool { return k != 0 }); i >= 0 {
		t.Errorf("slot %d holds %d after clear", i, n.place.slots[i])
	}
}

// BenchmarkGather lists the distinct ids of the 10 edges of each of 250 arrivals by a table, beside a map.
func BenchmarkGather(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	edges := make([]string, 2500)
	for i := range edges {
		edges[i] = fmt.Sprint("post-", rng.IntN(100_000))
	}
	ids := make([]string, 0, len(edges))
	b.Run("table", func(b *testing.B) {
		n := neighbours{ids: ids}
		for b.Loop() {
			n.place.clear(len(edges))
			n.ids = n.ids[:0]
			for _, id := range edges {
				n.add(id)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(edges)), "ns/edge")
	})
	b.Run("map", func(b *testing.B) {
		place := make(map[string]int32)
		for b.Loop() {
			clear(place)
			ids = ids[:0]
			for _, id := range edges {
				if _, seen := place[id]; !seen {
					place[id] = int32(len(ids))
					ids = append(ids, id)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(edges)), "ns/edge")
	})
}
