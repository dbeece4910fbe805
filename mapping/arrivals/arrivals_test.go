package arrivals

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/mapping"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// world holds the rows of arrivals of one version.
type world struct {
	client redis.UniversalClient
	table  Table
	log    bytes.Buffer
}

func newWorld(t testing.TB, client redis.UniversalClient, prefix string) *world {
	t.Helper()
	w := &world{client: client, table: Table{Rows: prefix + "a:", Counts: prefix + "counts", Synthetic: 30,
		Marker: "{" + strings.TrimSuffix(prefix, ":") + "}:marker", MarkerID: "7:abc"}}
	w.complete(t)
	return w
}

// complete writes the version's marker.
func (w *world) complete(t testing.TB) {
	t.Helper()
	expect.OK(t, w.client.HSet(t.Context(), w.table.Marker, mapping.MarkerField, w.table.MarkerID).Err())
}

// consumer returns the rows as one consumer has them.
func (w *world) consumer(ttl time.Duration, maxRows int) *Rows {
	return w.consumerWith(Options{TTL: ttl, MaxRows: maxRows})
}

func (w *world) consumerWith(o Options) *Rows {
	o.CacheBytes, o.Log = 1<<16, slog.New(slog.NewTextHandler(&w.log, nil))
	return New(w.client, w.table, o)
}

// forget removes rows and returns which ids had one.
func (w *world) forget(t testing.TB, ids ...string) (known []bool) {
	t.Helper()
	known = make([]bool, len(ids))
	expect.OK(t, Forget(t.Context(), w.client, w.table, 0, ids, known))
	return known
}

// keys returns the keys of the version's rows.
func (w *world) keys(t testing.TB) []string {
	t.Helper()
	keys, err := harness.Keys(t.Context(), w.client, w.table.Rows+"*")
	expect.OK(t, err)
	return keys
}

// row returns a row that differs by its value.
func row(id string, val float32) growth.ArrivalRow {
	return growth.ArrivalRow{ID: id,
		Row: attach.Row{Known: true, Arrived: true, Cols: []int32{1, 29}, Vals: []float32{val, 2}}}
}

func rowsOf(ids ...string) (out []growth.ArrivalRow) {
	for _, id := range ids {
		out = append(out, row(id, 0.5))
	}
	return out
}

func numbered(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(prefix, i))
	}
	return ids
}

func keep(t testing.TB, a *Rows, arrived ...growth.ArrivalRow) {
	t.Helper()
	expect.OK(t, a.Keep(t.Context(), arrived))
}

func find(t testing.TB, a *Rows, ids ...string) []attach.Row {
	t.Helper()
	rows := make([]attach.Row, len(ids))
	expect.OK(t, a.Rows(t.Context(), ids, rows))
	return rows
}

// known returns how many of the ids have a row.
func known(t testing.TB, a *Rows, ids ...string) (n int) {
	t.Helper()
	for _, r := range find(t, a, ids...) {
		if r.Known {
			n++
		}
	}
	return n
}

// Each consumer finds what the others wrote, bit for bit, from Redis and then from memory. The last row of an id
// counts.
func TestRowsAreFoundByAll(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorld(t, client, prefix)
		one, other := w.consumer(time.Hour, 1000), w.consumer(time.Hour, 1000)
		empty := growth.ArrivalRow{ID: "empty", Row: attach.Row{Known: true, Arrived: true}}
		odd := row("{p} *?[x]\x00\xff", 3)
		keep(t, one, row("p", 0.5), empty, odd)
		keep(t, other, row("q", 0.25), row("p", 0.75))
		want := []attach.Row{row("q", 0.25).Row, {}, row("p", 0.75).Row, empty.Row, odd.Row}
		for name, a := range map[string]*Rows{"writer": other, "reader": w.consumer(time.Hour, 1000)} {
			for range 2 {
				expect.Same(t, want, find(t, a, "q", "none", "p", "empty", odd.ID), "%s finds other rows", name)
			}
		}
		if s := other.Stats(); s.Written != 2 || s.Rows != 5 || s.Refused != 0 || s.Found != 8 || s.Bytes < 5*rowOverhead {
			t.Errorf("stats %+v, want 2 written of 5 and 8 found", s)
		}
		if ttl := client.PTTL(t.Context(), w.table.Rows+"p").Val(); ttl <= 59*time.Minute || ttl > time.Hour {
			t.Errorf("a row expires in %s, want 1h", ttl)
		}
	})
}

// Many rows take several round trips.
func TestManyRows(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorld(t, client, prefix)
		ids := numbered("many-", idsPerPipeline+100)
		keep(t, w.consumer(time.Hour, 10_000), rowsOf(ids...)...)
		if n := known(t, w.consumer(time.Hour, 10_000), ids...); n != len(ids) {
			t.Errorf("%d of %d rows are found", n, len(ids))
		}
		for k, was := range w.forget(t, append(ids, "nobody")...) {
			if was != (k < len(ids)) {
				t.Fatalf("id %d was known: %t", k, was)
			}
		}
		if left := w.keys(t); len(left) > 0 {
			t.Errorf("%d rows are left", len(left))
		}
	})
}

// At the bound no row more is written, by any consumer, and one line says so. Rows expire, and arrivals get rows again.
func TestRowsStopAndBeginAgain(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		server := miniredis.RunT(t)
		now := time.Now()
		stopAndBeginAgain(t, connect(t, "redis://"+server.Addr()), "t:", time.Hour, func(d time.Duration) {
			now = now.Add(d)
			server.SetTime(now)
			server.FastForward(d)
		})
	})
	for name, place := range map[string]func(t *testing.T) harness.RedisPlace{
		"real":    func(t *testing.T) harness.RedisPlace { return harness.RealRedis(t) },
		"cluster": func(t *testing.T) harness.RedisPlace { return harness.SharedCluster(t).Place(t) },
	} {
		t.Run(name, func(t *testing.T) {
			client, prefix := connectAt(t, place(t))
			stopAndBeginAgain(t, client, prefix, 2*time.Second, time.Sleep)
		})
	}
}

func stopAndBeginAgain(t *testing.T, client redis.UniversalClient, prefix string, ttl time.Duration,
	wait func(time.Duration)) {
	t.Helper()
	w := newWorld(t, client, prefix)
	a, other := w.consumer(ttl, 5), w.consumer(ttl, 5)
	keep(t, a, rowsOf("p0", "p1", "p2")...)
	wait(ttl / 2)
	keep(t, other, rowsOf("p3", "p4", "p5")...)
	keep(t, a, rowsOf("p6", "p7")...)
	w.forget(t, "p3") // and yet it counts on
	keep(t, a, rowsOf("p3")...)
	if n := known(t, a, numbered("p", 8)...); n != 4 {
		t.Errorf("%d rows are found, want p0 to p2 and p4", n)
	}
	if s := a.Stats(); s.Rows != 5 || s.Refused != 3 || other.Stats().Refused != 1 {
		t.Errorf("stats %+v and %+v, want 5 rows, 3 and 1 refused", s, other.Stats())
	}
	if n := strings.Count(w.log.String(), "level=WARN"); n != 2 { // each consumer says so
		t.Errorf("%d warnings, want one of each:\n%s", n, w.log.String())
	}
	wait(ttl/2 + ttl/slicesPerTTL + 10*time.Millisecond) // the first three have expired, the others have not
	keep(t, a, rowsOf("p8", "p9")...)
	keep(t, a, rowsOf("p10", "p11")...)
	if n := known(t, a, numbered("p", 12)...); n != 4 || len(w.keys(t)) != 4 {
		t.Errorf("%d rows are found, %d are there, want p4 and p8 to p10", n, len(w.keys(t)))
	}
	if s := a.Stats(); s.Rows != 5 || !strings.Contains(w.log.String(), "arrivals get rows again") {
		t.Errorf("stats %+v after rows expired; log:\n%s", s, w.log.String())
	}
	wait(2 * ttl)
	find(t, a) // as the lookup before, which brings the time
	if n := known(t, a, numbered("p", 12)...); n != 0 || len(w.keys(t)) != 0 {
		t.Errorf("%d rows are found and %d are there after all have expired", n, len(w.keys(t)))
	}
	if n := client.Exists(t.Context(), w.table.Counts).Val(); n != 0 {
		t.Error("their counts are left")
	}
	keep(t, other, rowsOf(numbered("q", 9)...)...)
	if n := known(t, a, numbered("q", 9)...); n != 5 || other.Stats().Rows != 5 {
		t.Errorf("%d rows are found, stats %+v, want 5", n, other.Stats())
	}
}

// Rows are bounded in bytes as well: long ids use the room up as many rows do.
func TestRowsAreBoundedInBytes(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorld(t, client, prefix)
		const most = 10_000
		a := w.consumerWith(Options{TTL: time.Hour, MaxRows: 1000, MaxBytes: most})
		size := 0
		for i := range 20 {
			r := row(strings.Repeat("long", 250)+fmt.Sprint(i), 0.5)
			size = len(w.table.Rows) + len(r.ID) + len(AppendRow(nil, time.Now().UnixMilli(), r.Row)) + rowOverhead
			keep(t, a, r)
		}
		if s, want := a.Stats(), int64(most/size); s.Rows != want || s.Bytes > most || s.Bytes < want*int64(size-1) ||
			s.Refused != uint64(20-want) || len(w.keys(t)) != int(want) {
			t.Errorf("rows of %d bytes: stats %+v, want %d rows", size, s, want)
		}
		if !strings.Contains(w.log.String(), "max_bytes=10000") {
			t.Errorf("no word of it:\n%s", w.log.String())
		}
	})
}

// Consumers need not agree on a TTL: each row counts until it expires by the setting of its writer.
func TestConsumersWithOtherTTLs(t *testing.T) {
	server := miniredis.RunT(t)
	now := time.Now()
	w := newWorld(t, connect(t, "redis://"+server.Addr()), "t:")
	short, long := w.consumer(time.Minute, 10), w.consumer(time.Hour, 10)
	keep(t, short, rowsOf("s0", "s1")...)
	keep(t, long, rowsOf("l0", "l1", "l2")...)
	keep(t, short, rowsOf("s2")...)
	if n := known(t, short, "s0", "s1", "s2", "l0", "l1", "l2"); n != 6 {
		t.Fatalf("%d rows are found, want 6", n)
	}
	server.SetTime(now.Add(2 * time.Minute))
	server.FastForward(2 * time.Minute)
	keep(t, short, rowsOf("s3")...)
	if n := known(t, short, "s0", "s1", "s2", "s3", "l0", "l1", "l2"); n != 4 || short.Stats().Rows != 4 {
		t.Errorf("%d rows are found, stats %+v, want s3 and three of an hour", n, short.Stats())
	}
}

// A row in memory is dropped when it expires by Redis' clock, whatever this machine's says.
func TestRowsInMemoryExpire(t *testing.T) {
	server := miniredis.RunT(t)
	now := time.Now().Add(-100 * time.Hour)
	server.SetTime(now)
	client := connect(t, "redis://"+server.Addr())
	w := newWorld(t, client, "t:")
	writer, reader := w.consumer(time.Minute, 10), w.consumer(time.Minute, 10)
	keep(t, writer, row("p", 1))
	server.SetTime(now.Add(30 * time.Second))
	find(t, reader, "p")
	expect.OK(t, client.Del(t.Context(), w.table.Rows+"p").Err()) // so what is found is in memory
	for _, c := range []struct {
		after time.Duration
		known int
	}{{40 * time.Second, 1}, {59 * time.Second, 1}, {61 * time.Second, 0}} {
		server.SetTime(now.Add(c.after))
		for name, a := range map[string]*Rows{"writer": writer, "reader": reader} {
			find(t, a) // as the lookup before, which brings the time
			if n := known(t, a, "p"); n != c.known {
				t.Errorf("%s has %d rows after %s, want %d", name, n, c.after, c.known)
			}
		}
	}
}

func TestRowsOfAVersionThatVanished(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w, other := newWorld(t, client, prefix), newWorld(t, client, prefix+"other:")
		a := w.consumer(time.Hour, 10_000)
		keep(t, a, rowsOf(numbered("p", 3000)...)...)
		keep(t, other.consumer(time.Hour, 10), rowsOf("p1")...)
		client.Del(t.Context(), w.table.Marker)
		if err := a.Rows(t.Context(), []string{"p1"}, make([]attach.Row, 1)); !errors.Is(err, mapping.ErrVanished) {
			t.Errorf("finding: %v, want %v", err, mapping.ErrVanished)
		}
		for range 2 {
			expect.OK(t, Delete(t.Context(), client, w.table))
		}
		if n := client.Exists(t.Context(), w.table.Counts).Val(); len(w.keys(t)) > 0 || n != 0 || len(other.keys(t)) != 1 {
			t.Errorf("%d rows and %d counts are left, and %d of another version", len(w.keys(t)), n, len(other.keys(t)))
		}
		// A consumer that was stopped for long comes too late: its rows are removed again.
		if err := a.Keep(t.Context(), rowsOf("late")); !errors.Is(err, mapping.ErrVanished) || len(w.keys(t)) > 0 {
			t.Errorf("writing: %v, and %v are left", err, w.keys(t))
		}
		w.forget(t, "late") // which makes no marker
		if n := client.Exists(t.Context(), w.table.Marker).Val(); n != 0 {
			t.Error("there is a marker again")
		}
		w.table.MarkerID = "8:abc" // published again
		w.complete(t)
		if err := a.Keep(t.Context(), rowsOf("late")); !errors.Is(err, mapping.ErrVanished) || len(w.keys(t)) > 0 {
			t.Errorf("writing under another publication: %v, and %v are left", err, w.keys(t))
		}
	})
}

// A damaged row is no outage: what needs it is degraded.
func TestDamagedRows(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorld(t, client, prefix)
		a := w.consumer(time.Hour, 10)
		keep(t, a, row("q", 0.5))
		client.Set(t.Context(), w.table.Rows+"p", "short", time.Hour)
		if rows := find(t, a, "p", "q"); !rows[0].Unread || !rows[1].Known || a.Stats().Damaged != 1 {
			t.Errorf("rows %+v, stats %+v", rows, a.Stats())
		}
		if !strings.Contains(w.log.String(), "id=p error=") {
			t.Errorf("no word of it:\n%s", w.log.String())
		}
		client.HSet(t.Context(), w.table.Marker, ForgottenField, "many")
		if err := a.Rows(t.Context(), []string{"q"}, make([]attach.Row, 1)); !errors.Is(err, mapping.ErrDamaged) {
			t.Errorf("a count that is none is taken: %v", err)
		}
		client.HDel(t.Context(), w.table.Marker, ForgottenField)
		client.HSet(t.Context(), w.table.Counts, "nonsense", "x", "12b", "y") // of slices that are past
		keep(t, a, row("p", 1))
		if s := a.Stats(); s.Rows != 2 || len(client.HKeys(t.Context(), w.table.Counts).Val()) > 4 {
			t.Errorf("stats %+v, counts %v", s, client.HGetAll(t.Context(), w.table.Counts).Val())
		}
	})
}

// A row has one encoding, and other bytes are refused.
func TestRowCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := row("", rapid.Float32Range(0, 9).Draw(t, "value")).Row
		expires := rapid.Int64Range(0, math.MaxInt64).Draw(t, "expires")
		data := AppendRow([]byte("x"), expires, want)[1:]
		got, at, err := DecodeRow(data, 30)
		expect.OK(t, err)
		expect.Same(t, want, got, "decoded")
		expect.Same(t, expires, at, "when it expires")
		cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		if a, _, err := DecodeRow(data[:cut], 30); err == nil {
			t.Fatalf("%d of %d bytes are taken as %+v", cut, len(data), a)
		}
	})
}

func FuzzDecodeRow(f *testing.F) {
	f.Add(AppendRow(nil, 1_800_000_000_000, row("", 0.5).Row), 30)
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0x0f}, 4)
	f.Fuzz(func(t *testing.T, data []byte, synthetic int) {
		r, expires, err := DecodeRow(data, synthetic)
		if err == nil && !bytes.Equal(AppendRow(nil, expires, r), data) {
			t.Fatalf("%x is read as %+v, which is written otherwise", data, r)
		}
	})
}
