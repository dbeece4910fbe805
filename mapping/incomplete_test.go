package mapping

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
	"rivulet/mapping/mappingtest"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// logged is a guard and its log.
func logged(o GuardOptions) (*Guard, *bytes.Buffer) {
	log := &bytes.Buffer{}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	return NewGuard(o), log
}

// A damaged row costs its own id and no other, while Redis is waited for as well as where it degrades; it never opens
// the breaker and is not cached.
func TestADamagedRowIsUnread(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(100, 3)
		table := stored(t, client, prefix, m)
		for _, o := range []GuardOptions{{}, {Degrade: true}, {Failures: 1, OpenFor: time.Hour}} {
			mend := damageRow(t, client, table, "7")
			if err := NewRedis(client, table).Rows(t.Context(), []string{"8", "7"}, make([]attach.Row, 2)); !errors.Is(err,
				ErrDamaged) ||
				errors.Is(err, ErrVanished) || !strings.Contains(err.Error(), `id "7": bucket `) {
				t.Fatalf("without a guard the error is %v, want one that names the id", err)
			}
			g, log := logged(o)
			lookup := NewCached(g.Lookup(NewRedis(client, table)), 1<<20)
			want := mustRows(t, FromArtifact(m), "8", "7", "nobody")
			want[1] = attach.Row{Unread: true}
			for range 3 {
				expect.Same(t, want, mustRows(t, lookup, "8", "7", "nobody"), "rows")
			}
			if got := g.Losses(); got != (LossStats{DamagedRows: 3}) {
				t.Errorf("counts are %+v, want the row each time that it was asked for", got)
			}
			if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "id=7 ") ||
				!strings.Contains(text, "publish") {
				t.Errorf("logged %q, want one line with the id and what to do", text)
			}
			mend()
			expect.Same(t, mustRows(t, FromArtifact(m), "7"), mustRows(t, lookup, "7"), "a mended row")
		}
	})
}

// A bucket that is missing while the version is complete was lost: its ids are not "unknown", on one server as on a
// cluster. Where Redis is waited for the lookup fails; where it degrades, these ids alone are unread.
func TestAnEvictedBucketIsNotUnknown(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(300, 3)
		table := stored(t, client, prefix, m)
		lost := table.bucket("7")
		key := table.Key(lost)
		ids := append(slices.Clone(m.IDs), "nobody")
		want := mustRows(t, FromArtifact(m), ids...)
		unread := 0
		for i, id := range ids {
			if table.bucket(id) == lost {
				want[i] = attach.Row{Unread: true}
				unread++
			}
		}
		text := client.Get(t.Context(), key).Val()
		client.Del(t.Context(), key)
		waits, log := logged(GuardOptions{Failures: 1, OpenFor: time.Hour})
		for range 2 {
			err := waits.Lookup(NewRedis(client, table)).Rows(t.Context(), ids, make([]attach.Row, len(ids)))
			if !errors.Is(err, ErrVanished) || !strings.Contains(err.Error(), "bucket "+key+" is missing") || Refused(err) ||
				Unavailable(err) {
				t.Fatalf("error = %v, want one that names the bucket and is waited for", err)
			}
		}
		if got := waits.Losses(); got != (LossStats{EvictedBuckets: 2}) || strings.Count(log.String(), "\n") != 1 ||
			!strings.Contains(log.String(), key) || !strings.Contains(log.String(), "arrivals that need it wait") {
			t.Errorf("counts are %+v, logged %q", got, log)
		}
		degrades, log := logged(GuardOptions{Degrade: true})
		lookup := NewCached(degrades.Lookup(NewRedis(client, table)), 1<<20)
		for range 2 {
			if diff := cmp.Diff(want, mustRows(t, lookup, ids...)); diff != "" || unread < 2 {
				t.Fatalf("rows, of which %d are lost (-want +got):\n%s", unread, diff)
			}
		}
		if got := degrades.Losses(); got != (LossStats{EvictedBuckets: 2}) || strings.Count(log.String(), "\n") != 1 ||
			!strings.Contains(log.String(), "made without it and marked as degraded") {
			t.Errorf("counts are %+v, logged %q", got, log)
		}
		client.Set(t.Context(), key, text, 0)
		expect.Same(t, mustRows(t, FromArtifact(m), ids...), mustRows(t, lookup, ids...),
			"after the bucket was written again")
	})
}

// damageRow makes the row of an id one that no codec reads. mend makes it what it was.
func damageRow(t *testing.T, client redis.UniversalClient, table Table, id string) (mend func()) {
	t.Helper()
	key := table.Key(table.bucket(id))
	good := client.Get(t.Context(), key).Val()
	set := func(text string) {
		expect.OK(t, client.Set(t.Context(), key, text, 0).Err())
	}
	set(mappingtest.Damaged(good, table.Pages, id))
	return func() { set(good) }
}

// trips is a hook that counts round trips and notes the most bytes of one.
type trips struct {
	redis.Hook
	count, largest int
}

func (h *trips) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.count++
		bytes := 0
		for _, cmd := range cmds {
			for _, arg := range cmd.Args() {
				if text, ok := arg.([]byte); ok {
					bytes += len(text)
				}
			}
		}
		h.largest = max(h.largest, bytes)
		return next(ctx, cmds)
	}
}

// Ids may have 100 KiB, and so may those that are in the same page: an answer is cut by bytes, so that each is within
// its time limit.
func TestLongIDsAreCutIntoRoundTrips(t *testing.T) {
	harness.EachRedis(t, func(t *testing.T, at harness.RedisPlace) {
		client, prefix := connectAt(t, at)
		seen := &trips{}
		client.AddHook(seen)
		m := numbered(120, 3)
		filler := strings.Repeat("a", 100<<10)
		for i := range m.IDs {
			m.IDs[i] = filler + m.IDs[i]
		}
		lookup := NewRedis(client, stored(t, client, prefix, m)).Within(2 * time.Second)
		for _, tables := range []int{1, 0} { // the page tables are read once
			*seen = trips{}
			rows := mustRows(t, lookup, append([]string{"nobody", filler}, m.IDs...)...)
			if diff := cmp.Diff(mustRows(t, FromArtifact(m), m.IDs...), rows[2:]); diff != "" || rows[0].Known || rows[1].Known {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if most := readBytesPerPipeline/(100<<10) + 1; seen.count < tables+120/most || seen.count > tables+8 {
				t.Errorf("%d round trips for 12 MiB of ids", seen.count)
			}
		}
	})
}

// Rows of long ids are written in round trips of about a MiB, too: one bucket is the least.
func TestWritesAreCutByTheBytesOfIDs(t *testing.T) {
	client, prefix := connectAt(t, harness.RedisPlace{URL: "redis://" + miniredis.RunT(t).Addr(), Prefix: "p"})
	m := numbered(2000, 3)
	filler := strings.Repeat("a", 4<<10)
	for i := range m.IDs {
		m.IDs[i] = filler + m.IDs[i]
	}
	seen := &trips{}
	client.AddHook(seen)
	table := stored(t, client, prefix, m)
	if most := BytesPerPipeline + 100*len(m.IDs[0]); seen.largest > most || seen.count < 5 {
		t.Errorf("%d round trips of up to %d bytes, want up to %d bytes", seen.count, seen.largest, most)
	}
	mustHold(t, client, table, m)
}
