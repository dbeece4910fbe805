package arrivals

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A forgotten row is gone from Redis and from the memory of every consumer, and a later one can be written.
func TestForget(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorld(t, client, prefix)
		one, other := w.consumer(time.Hour, 1000), w.consumer(time.Hour, 1000)
		keep(t, one, row("gone", 0.5), row("q", 0.25)) // one has them in memory now, and other after this:
		if n := known(t, other, "gone", "q"); n != 2 {
			t.Fatal("the rows are not found")
		}
		if known := w.forget(t, "gone", "nobody"); !known[0] || known[1] {
			t.Errorf("known %v", known)
		}
		for name, a := range map[string]*Rows{"who wrote": one, "who read": other} {
			if rows := find(t, a, "gone", "q"); rows[0].Known || !rows[1].Known {
				t.Errorf("%s: the forgotten row is known: %t, the other: %t", name, rows[0].Known, rows[1].Known)
			}
		}
		if known := w.forget(t, "gone"); known[0] {
			t.Error("it is forgotten twice")
		}
		keep(t, one, row("gone", 2))
		for name, a := range map[string]*Rows{"who wrote": one, "who read": other} {
			if rows := find(t, a, "gone"); !rows[0].Known || rows[0].Vals[0] != 2 {
				t.Errorf("%s: the row of a later arrival: %+v", name, rows[0])
			}
		}
	})
}

// The count of forgotten ids rises also if the row is gone already: a call that removed it may have ended before it
// could say so, and readers still have it in memory.
func TestForgetAgainAfterACrash(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorld(t, client, prefix)
		a := w.consumer(time.Hour, 1000)
		keep(t, a, row("gone", 0.5))
		client.Del(t.Context(), w.table.Rows+"gone")
		if n := known(t, a, "gone"); n != 1 {
			t.Fatal("it is not in memory")
		}
		w.forget(t, "gone")
		if n := known(t, a, "gone"); n != 0 {
			t.Error("it is in memory still")
		}
	})
}

// A row that was read, or written, before an id was forgotten is not put into memory after that.
func TestRowsThatComeTooLateForMemory(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorld(t, client, prefix)
		a := w.consumer(time.Hour, 1000)
		find(t, a)
		w.forget(t, "gone")
		keep(t, a, row("gone", 1)) // a does not know yet that it was forgotten
		client.Del(t.Context(), w.table.Rows+"gone")
		if n := known(t, a, "gone"); n != 0 {
			t.Error("it is in memory")
		}
	})
}
