package arrivals

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/mapping"
	"rivulet/test/expect"
)

// lookedUp looks the arrivals up, as a batch does before it is predicted, and returns them as the rows to keep.
func lookedUp(t *testing.T, a *Rows, arrived ...growth.ArrivalRow) []growth.ArrivalRow {
	t.Helper()
	own := make([]string, len(arrived))
	for i := range arrived {
		own[i] = arrived[i].ID
	}
	asOf, err := a.Find(t.Context(), nil, nil, own, make([]*growth.ArrivalRow, len(own)))
	expect.OK(t, err)
	for i := range arrived {
		arrived[i].AsOf = asOf
	}
	return arrived
}

// Rows that a consumer has written are in its memory: it does not read them from Redis.
func TestOwnRowsAreNotRead(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a, other := w.open(t, 100*time.Hour, 1000), w.open(t, 100*time.Hour, 1000)
		p, empty := arrivedAs("p", 1, 0.5), growth.ArrivalRow{ID: "empty", Row: attach.Row{Known: true, Arrived: true}}
		mustKeep(t, a, lookedUp(t, a, p, empty)...)
		for _, id := range []string{"p", "empty"} { // so that Redis does not have them any more
			client.Unlink(t.Context(), w.table.bucket(bucketOf(id, a.buckets), a.epoch.Load()))
		}
		rows, _ := find(t, a, []string{"empty", "p"}, nil)
		expect.Same(t, []attach.Row{empty.Row, p.Row}, rows, "own rows")
		if rows, _ := find(t, other, []string{"empty", "p"}, nil); rows[0].Known || rows[1].Known {
			t.Errorf("another consumer finds %+v", rows)
		}
		if s := a.Stats(); s.Found != 2 || s.Written != 2 {
			t.Errorf("stats %+v, want 2 written and 2 found", s)
		}
	})
}

// Where another consumer was first, or the row was refused, the own row is not in memory.
func TestRowsThatWereNotWrittenAreNotCached(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a, other := w.open(t, 100*time.Hour, 3), w.open(t, 100*time.Hour, 3)
		first := arrivedAs("p", 1, 0.5)
		late := lookedUp(t, a, arrivedAs("p", 2, 0.75), arrivedAs("q", 3, 0.25), arrivedAs("q", 4, 0.125),
			arrivedAs("r", 5, 1), arrivedAs("s", 6, 1))
		mustKeep(t, other, lookedUp(t, other, first)...)
		find(t, a, nil, []string{"nobody"}) // brings the count
		mustKeep(t, a, late...)
		want := []attach.Row{first.Row, late[1].Row, {}}
		rows, _ := find(t, a, []string{"p", "q", "s"}, nil)
		expect.Same(t, want, rows, "the second consumer finds other rows")
		// A repeat finds its own rows there, and cannot tell whose they are.
		again := w.open(t, 100*time.Hour, 3)
		mustKeep(t, again, lookedUp(t, again, late[1:2]...)...)
		client.Unlink(t.Context(), w.table.bucket(bucketOf("q", a.buckets), a.epoch.Load()))
		if rows, _ := find(t, again, []string{"q"}, nil); rows[0].Known {
			t.Errorf("a row that was there before is in memory: %+v", rows[0])
		}
	})
}

// A row that would be read as damaged is not in memory either, so that all consumers see the same.
func TestUnreadableRowsAreNotCached(t *testing.T) {
	client, prefix := connectTo(t, mapping.RedisOptions{URL: "redis://" + miniredis.RunT(t).Addr()}), "t:"
	w := newWorldOfArrivals(t, client, prefix)
	a := w.open(t, time.Hour, 1000)
	mustKeep(t, a, lookedUp(t, a, arrivedAs("p", 1, float32(math.Inf(1))))...)
	if rows, _ := find(t, a, []string{"p"}, nil); !rows[0].Unread {
		t.Errorf("a row with an infinite value is %+v", rows[0])
	}
}

// An id that was looked up before its row's epoch began may have an older row by then, and the older one is the one
// to use.
func TestOwnRowOfALaterEpochIsNotCached(t *testing.T) {
	server := miniredis.RunT(t)
	w := newWorldOfArrivals(t, connect(t, "redis://"+server.Addr()), "t:")
	now := time.Date(2101, 2, 3, 4, 30, 0, 0, time.UTC)
	server.SetTime(now)
	a, other := w.open(t, time.Hour, 1000), w.open(t, time.Hour, 1000)
	older, own := arrivedAs("p", 1, 0.5), lookedUp(t, a, arrivedAs("p", 2, 0.75))
	mustKeep(t, other, older)
	server.SetTime(now.Add(time.Hour))
	mustKeep(t, a, own...)
	if s := a.Stats(); s.Written != 1 {
		t.Fatalf("stats %+v: the row of the new epoch was not written", s)
	}
	if rows, _ := find(t, a, []string{"p"}, nil); !cmp.Equal(rows[0], older.Row) {
		t.Errorf("found %+v, want the older row", rows[0])
	}
}

// An own row is found in memory as long as in Redis: until the epoch after its own ends.
func TestOwnRowsExpire(t *testing.T) {
	server := miniredis.RunT(t)
	w := newWorldOfArrivals(t, connect(t, "redis://"+server.Addr()), "t:")
	now := time.Date(2101, 2, 3, 4, 0, 0, 0, time.UTC)
	server.SetTime(now)
	a := w.open(t, time.Hour, 1000)
	mustKeep(t, a, lookedUp(t, a, arrivedAs("p", 1, 0.5))...)
	w.client.Unlink(t.Context(), w.table.bucket(bucketOf("p", a.buckets), a.epoch.Load()))
	for _, after := range []time.Duration{0, 2*time.Hour - time.Millisecond, 2 * time.Hour} {
		server.SetTime(now.Add(after))
		if rows, _ := find(t, a, []string{"p"}, nil); rows[0].Known != (after < 2*time.Hour) {
			t.Errorf("after %s: known is %t", after, rows[0].Known)
		}
	}
}

// Rows that were written too late for their version are not in memory.
func TestOwnRowsOfAVersionThatVanished(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a := w.open(t, 100*time.Hour, 1000)
		var late []growth.ArrivalRow
		for i := range 20 {
			late = append(late, arrivedAs(fmt.Sprint("p", i), 1, 0.5))
		}
		late = lookedUp(t, a, late...)
		client.Del(t.Context(), w.table.Marker)
		if err := a.Keep(t.Context(), late, growth.Fence{}); !errors.Is(err, mapping.ErrVanished) {
			t.Errorf("keeping: %v, want %v", err, mapping.ErrVanished)
		}
		client.HSet(t.Context(), w.table.Marker, mapping.MarkerField, w.table.MarkerID)
		for i := range late {
			if rows, _ := find(t, a, []string{late[i].ID}, nil); rows[0].Known {
				t.Errorf("%s is in memory", late[i].ID)
			}
		}
	})
}
