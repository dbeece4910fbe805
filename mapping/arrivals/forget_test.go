package arrivals

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/growth"
)

// forget removes rows and returns which ids had one.
func (w *worldOfArrivals) forget(t *testing.T, by growth.Fence, ids ...growth.Forget) (known []bool, err error) {
	t.Helper()
	known = make([]bool, len(ids))
	return known, ForgetRows(t.Context(), w.client, w.table, Options{}, ids, by, known)
}

// everything returns all keys, fields and values below the world's prefix, as one text.
func (w *worldOfArrivals) everything(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{w.table.Keys + "*", w.table.Marker + "*", w.table.Notes + "*"} {
		for _, key := range keysOf(t, w.client, pattern) {
			text := w.client.Get(t.Context(), key).Val()
			fmt.Fprintln(&all, key, text, w.client.HGetAll(t.Context(), key).Val())
		}
	}
	return all.String()
}

// A forgotten row is gone from Redis, from the counts, and from the memory of every consumer; the row of a later record
// stays, and a new one can be written.
func TestForgetRows(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		for _, ttl := range []time.Duration{time.Hour, 0} {
			w := newWorldOfArrivals(t, client, prefix+ttl.String()+":")
			if _, err := w.forget(t, growth.Fence{}, growth.Forget{ID: "p"}); err != nil {
				t.Fatalf("before a consumer has opened the rows: %v", err)
			}
			one, other := w.open(t, ttl, 1000), w.open(t, ttl, 1000)
			p, q := arrivedAs("who-is-forgotten", 1, 0.5, 0), arrivedAs("q", 2, 0.25)
			ids := []string{p.ID, q.ID}
			_, _ = find(t, one, ids, nil)
			p.AsOf, q.AsOf = one.epoch.Load(), one.epoch.Load()
			mustKeep(t, one, p, q) // one has them in memory now, and other after this:
			if rows, _ := find(t, other, ids, nil); !rows[0].Known || !rows[1].Known {
				t.Fatal("the rows are not found")
			}
			known, err := w.forget(t, growth.Fence{}, growth.Forget{ID: p.ID}, growth.Forget{ID: "nobody"},
				growth.Forget{ID: q.ID, Except: q.Record, Later: true})
			if err != nil || !known[0] || known[1] || known[2] {
				t.Errorf("known %v, %v", known, err)
			}
			for name, a := range map[string]*Rows{"who wrote": one, "who read": other} {
				if rows, seen := find(t, a, ids, ids[:1]); rows[0].Known || seen[0] != nil || !rows[1].Known {
					t.Errorf("%s: the forgotten row is known: %t, the other: %t", name, rows[0].Known, rows[1].Known)
				}
				if s := a.Stats(); s.Rows != 1 || s.Bytes <= rowOverhead || s.Bytes > 2*rowOverhead {
					t.Errorf("%s: %d rows of %d bytes are counted", name, s.Rows, s.Bytes)
				}
			}
			if text := w.everything(t); strings.Contains(text, p.ID) || !strings.Contains(text, q.ID) {
				t.Errorf("Redis has\n%s", text)
			}
			if known, err := w.forget(t, growth.Fence{}, growth.Forget{ID: p.ID}); err != nil || known[0] {
				t.Errorf("again: %v, %v", known, err)
			}
			mustKeep(t, one, arrivedAs(p.ID, 3, 2))
			if rows, _ := find(t, other, ids, nil); !rows[0].Known || rows[0].Vals[0] != 2 {
				t.Errorf("the row of a later arrival: %+v", rows[0])
			}
		}
	})
}

// A consumer that others have overtaken neither writes rows that were forgotten meanwhile nor removes later ones, and
// a generation that the coordinator confirms counts.
func TestForgetOfAnOvertakenConsumer(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a := w.open(t, time.Hour, 1000)
		in := func(generation int32) growth.Fence {
			return growth.Fence{Places: []string{"g:t:0", "g:t:1"}, Generation: generation}
		}
		if _, err := w.forget(t, in(8), growth.Forget{ID: "x"}); err != nil {
			t.Fatal(err)
		}
		late := []growth.ArrivalRow{arrivedAs("x", 1, 1)}
		if err := a.Keep(t.Context(), late, in(7)); !errors.Is(err, growth.ErrOvertaken) {
			t.Errorf("a row of an overtaken consumer: %v", err)
		}
		if rows, _ := find(t, a, []string{"x"}, nil); rows[0].Known {
			t.Error("it was written")
		}
		if err := a.Keep(t.Context(), []growth.ArrivalRow{arrivedAs("x", 2, 2)}, in(8)); err != nil {
			t.Error(err)
		}
		if known, err := w.forget(t, in(7), growth.Forget{ID: "x"}); !errors.Is(err, growth.ErrOvertaken) || known[0] {
			t.Errorf("a removal by an overtaken consumer: %v, %v", known, err)
		}
		if rows, _ := find(t, a, []string{"x"}, nil); !rows[0].Known || rows[0].Vals[0] != 2 {
			t.Errorf("the later row: %+v", rows[0])
		}
		anew := in(1)
		anew.Confirmed = true
		if known, err := w.forget(t, anew, growth.Forget{ID: "x"}); err != nil || !known[0] {
			t.Errorf("a confirmed generation: %v, %v", known, err)
		}
		if err := a.Keep(t.Context(), late, in(2)); err != nil {
			t.Errorf("after the group began to count anew: %v", err)
		}
	})
}

// Many ids are removed in several round trips, of both living epochs.
func TestForgetManyRows(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a := w.open(t, time.Hour, 10_000)
		var arrived []growth.ArrivalRow
		var ids []growth.Forget
		for i := range idsPerPipeline / 4 {
			id := "gone-" + strconv.Itoa(i)
			arrived, ids = append(arrived, arrivedAs(id, uint64(i), 1)), append(ids, growth.Forget{ID: id})
		}
		mustKeep(t, a, arrived...)
		epoch := a.epoch.Load()
		// As if one of them had been written in the epoch before.
		old := a.table.bucket(bucketOf("gone-0", a.buckets), epoch-1)
		now := a.table.bucket(bucketOf("gone-0", a.buckets), epoch)
		value := client.HGet(t.Context(), now, "gone-0").Val()
		if err := errors.Join(client.HSet(t.Context(), old, "gone-0", value).Err(),
			client.HDel(t.Context(), now, "gone-0").Err(),
			a.counted(t.Context(), epoch-1, 1, 100), a.counted(t.Context(), epoch, -1, -100)); err != nil {
			t.Fatal(err)
		}
		known, err := w.forget(t, growth.Fence{}, ids...)
		for i := range known {
			if err != nil || !known[i] {
				t.Fatalf("%s was not known: %v", ids[i].ID, err)
			}
		}
		if text := w.everything(t); strings.Contains(text, "gone-") {
			t.Errorf("Redis has\n%.1000s", text)
		}
		if _, _ = find(t, a, []string{"x"}, nil); a.Stats().Rows != 0 {
			t.Errorf("%d rows are counted", a.Stats().Rows)
		}
	})
}
