package arrivals

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// A row is found for one TTL at least and two at most, from memory too, and its keys expire with it.
func TestArrivalsExpire(t *testing.T) {
	t.Parallel()
	const ttl = 300 * time.Millisecond
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a, fresh := w.open(t, ttl, 1000), w.open(t, ttl, 1000)
		fresh.cache = nil
		before := w.now(t)
		mustKeep(t, a, arrivedAs("p", 1, 0.5))
		after := w.now(t)
		keys := keysOf(t, client, w.table.Keys+":*")
		// a bucket and the counts; on a cluster, of two epochs where they meet
		if len(keys) < 3 && w.now(t).Sub(before) < ttl {
			t.Errorf("keys %v", keys)
		}
		for _, key := range keys {
			if left := client.PTTL(t.Context(), key).Val(); left == -1 || left > 2*ttl {
				t.Errorf("%s expires after %s, want at most two TTL", key, left)
			}
		}
		for over := false; !over; time.Sleep(ttl / 10) {
			for _, by := range []*Rows{a, fresh} {
				begun := w.now(t)
				rows, _ := find(t, by, []string{"p"}, nil)
				switch ended := w.now(t); {
				case !rows[0].Known && ended.Sub(before) < ttl:
					t.Errorf("the row is gone after %s", ended.Sub(before))
				case rows[0].Known && begun.Sub(after) > 2*ttl+time.Millisecond:
					t.Errorf("the row is there after %s", begun.Sub(after))
				}
				over = begun.Sub(after) > 2*ttl+time.Millisecond
			}
		}
	})
}

// Epochs are those of Redis' time at each read and write, whenever a consumer last asked, and whatever the clock of its
// machine says.
func TestArrivalsLiveByRedisTime(t *testing.T) {
	server := miniredis.RunT(t)
	w := newWorldOfArrivals(t, connect(t, "redis://"+server.Addr()), "t:")
	now := time.Date(2101, 2, 3, 4, 0, 0, 0, time.UTC) // this machine's clock says otherwise
	server.SetTime(now)
	a, other := w.open(t, time.Hour, 1000), w.open(t, time.Hour, 1000)
	mustKeep(t, a, arrivedAs("p", 1, 0.5))
	for _, step := range []time.Duration{time.Hour, -time.Hour, 100 * time.Hour, -100 * time.Hour} {
		now = now.Add(step)
		server.SetTime(now)
		late := now.After(time.Date(2101, 2, 3, 6, 0, 0, 0, time.UTC))
		for _, by := range []*Rows{a, other, w.open(t, time.Hour, 1000)} {
			if rows, _ := find(t, by, []string{"p"}, nil); rows[0].Known == late {
				t.Errorf("%s: known is %t", now, rows[0].Known)
			}
		}
		id := fmt.Sprint("q", step)
		mustKeep(t, other, arrivedAs(id, 2, 1))
		if key := w.table.bucket(bucketOf(id, a.buckets), now.UnixMilli()/time.Hour.Milliseconds()); !slices.Contains(
			keysOf(t, w.client, "*"), key) {
			t.Errorf("%s: there is no %s", now, key)
		}
		if rows, _ := find(t, a, []string{id}, nil); !rows[0].Known {
			t.Errorf("%s: what one writes the other does not find", now)
		}
	}
}

// An epoch that had no rows when it was past is read again where a clock went back and rows came.
func TestArrivalsOfAClockThatWentBack(t *testing.T) {
	server := miniredis.RunT(t)
	w := newWorldOfArrivals(t, connect(t, "redis://"+server.Addr()), "t:")
	now := time.Date(2101, 2, 3, 4, 0, 0, 0, time.UTC)
	server.SetTime(now)
	a, other := w.open(t, time.Hour, 1000), w.open(t, time.Hour, 1000)
	for range 2 {
		if rows, _ := find(t, a, []string{"p"}, nil); rows[0].Known {
			t.Fatal("a row is there that nobody has written")
		}
	}
	if a.lonely.Load() != a.epoch.Load()-1 {
		t.Errorf("epoch %d is not known to have no rows, in epoch %d", a.lonely.Load(), a.epoch.Load())
	}
	server.SetTime(now.Add(-time.Minute))
	mustKeep(t, other, arrivedAs("p", 1, 0.5))
	server.SetTime(now)
	if rows, seen := find(t, a, []string{"p"}, []string{"p"}); !rows[0].Known || seen[0] == nil {
		t.Error("the row of the epoch before is not found")
	}
}

// Of the rows of two living epochs the older one is found, and no TTL means no end.
func TestArrivalsOlderRowCounts(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a := w.open(t, time.Hour, 1000)
		older := arrivedAs("p", 1, 0.5)
		client.HSet(t.Context(), w.table.bucket(bucketOf("p", a.buckets), a.epoch.Load()-1), "p",
			appendSeal(AppendArrived(nil, &older), 0, w.table.rowSeed(), "p"))
		mustKeep(t, a, arrivedAs("p", 2, 0.75))
		rows, seen := find(t, a, []string{"p"}, []string{"p"})
		if rows[0].Vals[0] != 0.5 || seen[0].Record != 1 {
			t.Errorf("found %+v of record %d, want the older row", rows[0], seen[0].Record)
		}

		w.table.Keys = prefix + "forever"
		a = w.open(t, 0, 1000)
		mustKeep(t, a, arrivedAs("p", 1, 0.5))
		for _, key := range keysOf(t, client, w.table.Keys+"*") {
			if left := client.PTTL(t.Context(), key).Val(); left != -1 {
				t.Errorf("%s expires after %s", key, left)
			}
		}
	})
}
