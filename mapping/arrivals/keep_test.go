package arrivals

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/growth"
	"rivulet/test/expect"
)

// A row replaces the one that its id has, in Redis and in the memory of every consumer, also where that one is of the
// epoch before; it is counted once. A consumer that another one has overtaken replaces nothing.
func TestReplacedRows(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		for _, ttl := range []time.Duration{time.Hour, 0} {
			w := newWorldOfArrivals(t, client, prefix+ttl.String()+":")
			one, other := w.open(t, ttl, 1000), w.open(t, ttl, 1000)
			ids := []string{"p", "q", "old"}
			mustKeep(t, one, arrivedAs("p", 1, 0.5, 0), arrivedAs("q", 2, 0.25))
			if ttl > 0 { // of the epoch before
				old := arrivedAs("old", 1, 0.5)
				key := w.table.bucket(bucketOf("old", one.buckets), one.epoch.Load()-1)
				record := appendSeal(AppendArrived(nil, &old), 0, w.table.rowSeed(), "old")
				expect.OK(t, client.HSet(t.Context(), key, "old", record).Err())
				client.IncrBy(t.Context(), w.table.count(one.epoch.Load()-1), 1)
				client.IncrBy(t.Context(), w.table.bytes(one.epoch.Load()-1), int64(len(record)+len("old"))+rowOverhead)
			}
			if rows, _ := find(t, other, ids, nil); !rows[0].Known || rows[2].Known != (ttl > 0) {
				t.Fatal("the rows are not found")
			}
			by := growth.Fence{Places: []string{"g/t-0"}, Generation: 5}
			var replacing []growth.ArrivalRow
			for _, id := range ids {
				row := arrivedAs(id, 9, 2, 1, 3)
				row.Replace = id != "q"
				replacing = append(replacing, row)
			}
			for range 2 { // it may be repeated
				expect.OK(t, one.Keep(t.Context(), replacing, by))
			}
			for name, a := range map[string]*Rows{"who wrote": one, "who read": other} {
				rows, seen := find(t, a, ids, ids)
				for k, want := range []float32{2, 0.25, 2} {
					if !rows[k].Known || rows[k].Vals[0] != want || seen[k] == nil || (seen[k].Record == 9) != (want == 2) {
						t.Errorf("%s: the row of %s is %+v, want %g", name, ids[k], rows[k], want)
					}
				}
				if s := a.Stats(); s.Rows != 3 || s.Bytes <= 3*rowOverhead || s.Bytes > 5*rowOverhead {
					t.Errorf("%s: %d rows of %d bytes are counted", name, s.Rows, s.Bytes)
				}
			}
			late := arrivedAs("p", 3, 7)
			late.Replace = true
			by.Generation = 4
			if err := other.Keep(t.Context(), []growth.ArrivalRow{late}, by); !errors.Is(err, growth.ErrOvertaken) {
				t.Errorf("a consumer that was overtaken: %v", err)
			}
			if rows, _ := find(t, other, ids, nil); rows[0].Vals[0] != 2 {
				t.Errorf("its row is there: %+v", rows[0])
			}
		}
	})
}

// Two revisions have notes of their own, though one record gave rise to both; they go with its offset.
func TestNotesOfRevisions(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a := w.open(t, time.Hour, 10)
		notes := func() []growth.Note {
			return []growth.Note{{Place: "g:t-0", Offset: 7, Record: 1}, {Place: "g:t-0", Offset: 7, Edge: 3, Record: 2},
				{Place: "g:t-0", Offset: 7, Edge: 4, Record: 3}}
		}
		for _, earlier := range []bool{false, true, false} {
			some := notes()
			expect.OK(t, a.Note(t.Context(), some))
			for i := range some {
				if some[i].Earlier != earlier || some[i].Lost {
					t.Errorf("note %d: %+v, earlier %t", i, some[i], earlier)
				}
			}
			below := int64(7) // nothing goes
			if earlier {
				below = 8
			}
			expect.OK(t, a.Forget(t.Context(), map[string]int64{"g:t-0": below}))
		}
	})
}
