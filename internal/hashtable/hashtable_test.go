package hashtable

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// A list answers as a map does, also when its memory is used again, and is never more than half full.
func TestListIsAMap(t *testing.T) {
	var l List
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.StringN(0, 2, -1)).Draw(t, "ids")
		l.Reset(len(ids))
		var list []string
		want := map[string]int{}
		for _, id := range ids {
			at, there := l.Place(list, id)
			if position, known := want[id]; there != known || known && at != position || !known && at != len(list) {
				t.Fatalf("%q is at %d (%t), want %d (%t)", id, at, there, position, known)
			}
			if !there {
				want[id] = len(list)
				list = append(list, id)
			}
		}
		used := 0
		for _, s := range l.table.Slots {
			if s.Place != 0 {
				used++
			}
		}
		if used != len(list) || 2*used > len(l.table.Slots) {
			t.Fatalf("%d ids are in %d of %d slots", len(list), used, len(l.table.Slots))
		}
	})
}

// Keys of one hash are all found, behind the last slot too, and after the table has grown.
func TestKeysOfOneHash(t *testing.T) {
	var table Table[int]
	table.Reset(8)
	const hash = 1<<32 - 1 // it begins at the last slot
	for place := range 5 {
		table.Insert(Slot[int]{Value: 10 * place, Hash: hash, Place: uint32(place + 1)})
	}
	for range 2 {
		found := map[uint32]int{}
		at := table.Seek(hash, table.First(hash))
		for ; table.Slots[at].Place != 0; at = table.Seek(hash, table.Next(at)) {
			found[table.Slots[at].Place] = table.Slots[at].Value
		}
		if want := map[uint32]int{1: 0, 2: 10, 3: 20, 4: 30, 5: 40}; !maps.Equal(found, want) {
			t.Errorf("of %d slots %v are found, want %v", len(table.Slots), found, want)
		}
		table.Grow()
	}
}

// BenchmarkList lists the distinct ids of the 10 edges of each of 250 arrivals, beside a map.
func BenchmarkList(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	edges := make([]string, 2500)
	for i := range edges {
		edges[i] = fmt.Sprint("post-", rng.IntN(100_000))
	}
	ids := make([]string, 0, len(edges))
	b.Run("list", func(b *testing.B) {
		var l List
		for b.Loop() {
			l.Reset(len(edges))
			ids = ids[:0]
			for _, id := range edges {
				if _, there := l.Place(ids, id); !there {
					ids = append(ids, id)
				}
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
				if _, there := place[id]; !there {
					place[id] = int32(len(ids))
					ids = append(ids, id)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(edges)), "ns/edge")
	})
}
