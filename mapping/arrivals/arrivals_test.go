package arrivals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
)

// worldOfArrivals holds the rows and notes of arrivals of a version.
type worldOfArrivals struct {
	client redis.UniversalClient
	table  Table
	log    bytes.Buffer
}

func newWorldOfArrivals(t *testing.T, client redis.UniversalClient, prefix string) *worldOfArrivals {
	t.Helper()
	tag := "{" + strings.TrimSuffix(prefix, ":") + "}:"
	w := &worldOfArrivals{client: client,
		table: Table{Keys: prefix + "arrivals", Synthetic: 30, Marker: tag + "marker", MarkerID: "7:abc",
			Notes: tag + "notes"}}
	expect.OK(t, client.HSet(t.Context(), w.table.Marker, mapping.MarkerField, w.table.MarkerID).Err())
	return w
}

// open opens the rows as one consumer.
func (w *worldOfArrivals) open(t *testing.T, ttl time.Duration, maxRows int) *Rows {
	t.Helper()
	return w.openWith(t, Options{TTL: ttl, MaxRows: maxRows})
}

func (w *worldOfArrivals) openWith(t *testing.T, o Options) *Rows {
	t.Helper()
	o.CacheBytes, o.Log = 1<<16, slog.New(slog.NewTextHandler(&w.log, nil))
	a, err := Open(t.Context(), w.client, w.table, o)
	expect.OK(t, err)
	return a
}

// now returns Redis' time.
func (w *worldOfArrivals) now(t *testing.T) time.Time {
	t.Helper()
	at, err := parseStanding(standing.Run(t.Context(), w.client, []string{w.table.Marker}))
	expect.OK(t, err)
	return at.now
}

func arrivedAs(id string, record uint64, val float32, attached ...int32) growth.ArrivalRow {
	return growth.ArrivalRow{ID: id, Record: record, Attached: attached,
		Row: attach.Row{Known: true, Arrived: true, Cols: []int32{1, 29}, Vals: []float32{val, 2}}}
}

func mustKeep(t *testing.T, a *Rows, arrived ...growth.ArrivalRow) {
	t.Helper()
	expect.OK(t, a.Keep(t.Context(), arrived, growth.Fence{}))
}

// find looks up neighbours and arrivals.
func find(t *testing.T, a *Rows, ids, own []string) ([]attach.Row, []*growth.ArrivalRow) {
	t.Helper()
	rows, seen := make([]attach.Row, len(ids)), make([]*growth.ArrivalRow, len(own))
	if _, err := a.Find(t.Context(), ids, rows, own, seen); err != nil {
		t.Fatal(err)
	}
	return rows, seen
}

// Each consumer finds what the others wrote, bit for bit; an id keeps its first row, and a second writing changes
// nothing.
func TestArrivalsAreFoundByAll(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		one, other := w.open(t, time.Hour, 1000), w.open(t, time.Hour, 1000)
		empty := growth.ArrivalRow{ID: "empty", Record: 3, Row: attach.Row{Known: true, Arrived: true}}
		p, q := arrivedAs("p", 1, 0.5, 0, 4, 5), arrivedAs("q", 2, 0.25)
		mustKeep(t, one, p, empty)
		mustKeep(t, other, q, arrivedAs("p", 9, 0.75))
		mustKeep(t, one, p)
		for name, a := range map[string]*Rows{"one": one, "other": other, "third": w.open(t, time.Hour, 1000)} {
			for range 2 { // from Redis, then from memory
				rows, seen := find(t, a, []string{"q", "none", "p", "empty"}, []string{"p", "none", "q"})
				expect.Same(t, []attach.Row{q.Row, {}, p.Row, empty.Row}, rows, "%s finds other rows", name)
				expect.Same(t, []*growth.ArrivalRow{&p, nil, &q}, seen, "%s finds other arrivals", name)
			}
		}
		if s := other.Stats(); s.Written != 1 || s.Rows != 3 || s.Refused != 0 || s.Found != 6 {
			t.Errorf("stats %+v, want 1 written of 3 and 6 found", s)
		}
	})
}

// keysOf returns the keys of a pattern, on all nodes.
func keysOf(t *testing.T, client redis.UniversalClient, pattern string) (keys []string) {
	t.Helper()
	scan := func(ctx context.Context, node *redis.Client) error {
		it := node.Scan(ctx, 0, pattern, 1000).Iterator()
		for it.Next(ctx) {
			keys = append(keys, it.Val())
		}
		return it.Err()
	}
	var err error
	if cluster, ok := client.(*redis.ClusterClient); ok {
		for _, master := range mastersOf(t, cluster) {
			err = errors.Join(err, scan(t.Context(), master))
		}
	} else {
		err = scan(t.Context(), client.(*redis.Client))
	}
	expect.OK(t, err)
	return keys
}

func mastersOf(t *testing.T, cluster *redis.ClusterClient) (masters []*redis.Client) {
	t.Helper()
	found := make(chan *redis.Client, 100)
	err := cluster.ForEachMaster(t.Context(), func(_ context.Context, node *redis.Client) error {
		found <- node
		return nil
	})
	close(found)
	expect.OK(t, err)
	for node := range found {
		masters = append(masters, node)
	}
	return masters
}

// At the bound no row more is written, by any consumer, and one line says so.
func TestArrivalsAreBounded(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a, other := w.open(t, time.Hour, 5), w.open(t, time.Hour, 5)
		batch := func(names ...string) (out []growth.ArrivalRow) {
			for _, name := range names {
				out = append(out, arrivedAs(name, 1, 0.5))
			}
			return out
		}
		mustKeep(t, a, batch("p0", "p1", "p2", "p3")...)
		find(t, other, nil, []string{"p4"}) // as before each batch, which brings the count
		mustKeep(t, other, batch("p4", "p5")...)
		for range 3 {
			mustKeep(t, other, batch("p6", "p7")...)
		}
		_, seen := find(t, a, nil, []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"})
		there := 0
		for _, s := range seen {
			if s != nil {
				there++
			}
		}
		if s := other.Stats(); there != 5 || s.Rows != 5 || s.Refused != 7 {
			t.Errorf("%d rows are there, stats %+v, want 5 and 7 refused", there, s)
		}
		if n := strings.Count(w.log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings, want one:\n%s", n, w.log.String())
		}
		client.Unlink(t.Context(), w.table.count(other.epoch.Load())) // as when all have expired
		client.Unlink(t.Context(), w.table.bytes(other.epoch.Load()))
		find(t, other, nil, []string{"p9"})
		mustKeep(t, other, batch("p9")...)
		if !strings.Contains(w.log.String(), "arrivals get rows again") || other.Stats().Rows != 1 {
			t.Errorf("stats %+v after the rows expired; log:\n%s", other.Stats(), w.log.String())
		}
	})
}

// Rows are bounded in bytes as well: long ids use the room up as many rows do.
func TestArrivalsAreBoundedInBytes(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		const most = 10_000
		a := w.openWith(t, Options{TTL: time.Hour, MaxRows: 1000, MaxBytes: most})
		size := 0
		for i := range 20 {
			arrived := arrivedAs(strings.Repeat("long", 250)+fmt.Sprint(i), 1, 0.5)
			size = len(arrived.ID) + len(AppendArrived(nil, &arrived)) + sealBytes + rowOverhead
			find(t, a, nil, []string{arrived.ID})
			mustKeep(t, a, arrived)
		}
		find(t, a, nil, []string{"any"})
		if s, want := a.Stats(), int64(most/size); s.Rows != want || s.Bytes > most || s.Bytes < want*int64(size-1) ||
			s.Refused != uint64(20-want) {
			t.Errorf("rows of %d bytes: stats %+v, want %d rows", size, s, want)
		}
		if !strings.Contains(w.log.String(), "max_bytes=10000") {
			t.Errorf("no word of it:\n%s", w.log.String())
		}
	})
}

// On one server the bounds hold also where consumers, who have all seen that there is room, write at the same time.
func TestBoundsHoldForConsumersTogether(t *testing.T) {
	client, prefix := connectTo(t, mapping.RedisOptions{URL: "redis://" + miniredis.RunT(t).Addr()}), "t:"
	w := newWorldOfArrivals(t, client, prefix)
	var all []*Rows
	for range 8 {
		a := w.open(t, time.Hour, 10)
		find(t, a, nil, []string{"nobody"})
		all = append(all, a)
	}
	for k, a := range all {
		var batch []growth.ArrivalRow
		for i := range 7 {
			batch = append(batch, arrivedAs(fmt.Sprint(k, "-", i), 1, 1))
		}
		mustKeep(t, a, batch...)
	}
	find(t, all[0], nil, []string{"nobody"})
	if s := all[0].Stats(); s.Rows != 10 {
		t.Errorf("%d rows, want 10", s.Rows)
	}
}

// The first consumer of a version says how long its rows live; another one follows and says so.
func TestArrivalsAgree(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		first := w.open(t, time.Hour, 5000)
		second := w.open(t, 2*time.Hour, 90_000)
		if second.ttl != time.Hour || second.buckets != first.buckets {
			t.Errorf("the second has TTL %s and %d buckets, the first %s and %d", second.ttl, second.buckets, first.ttl,
				first.buckets)
		}
		if !strings.Contains(w.log.String(), "configured=2h0m0s") {
			t.Errorf("no word of it:\n%s", w.log.String())
		}
		for field, value := range map[string]string{fieldTTL: "-1", fieldBuckets: "0"} {
			w.table.Keys = prefix + "damaged-" + field
			client.HSet(t.Context(), w.table.Keys, fieldTTL, 1, fieldBuckets, 1, field, value)
			_, err := Open(t.Context(), client, w.table, Options{TTL: 1, MaxRows: 1})
			if !errors.Is(err, mapping.ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("%s is %q", field, value)) {
				t.Errorf("%s %s: %v", field, value, err)
			}
		}
	})
}

func TestArrivalsOfAVersionThatVanished(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a := w.open(t, time.Hour, 1000)
		for i := range 200 {
			mustKeep(t, a, arrivedAs(fmt.Sprint("p", i), 1, 0.5))
		}
		expect.OK(t, a.Note(t.Context(), []growth.Note{{Place: "g:t:0"}, {Place: "g:t:1"}}))
		client.HSet(t.Context(), w.table.Keys, "later", "field")
		client.Del(t.Context(), w.table.Marker)
		_, err := a.Find(t.Context(), []string{"p1"}, make([]attach.Row, 1), nil, nil)
		if !errors.Is(err, mapping.ErrVanished) {
			t.Errorf("finding: %v, want %v", err, mapping.ErrVanished)
		}
		for range 2 {
			expect.OK(t, Delete(t.Context(), client, w.table))
		}
		if left := keysOf(t, client, w.table.Keys+"*"); len(left) > 0 {
			t.Errorf("%d keys are left: %s", len(left), left[:1])
		}
		// A consumer that was stopped for long comes too late: rows for a version that is gone are not written, or are
		// removed again.
		late := a.Keep(t.Context(), []growth.ArrivalRow{arrivedAs("late", 1, 1)}, growth.Fence{})
		noted := a.Note(t.Context(), []growth.Note{{Place: "g:t:0", Offset: 1}, {Place: "g:t:2"}})
		left := append(keysOf(t, client, w.table.Keys+"*"), keysOf(t, client, w.table.Notes+":g:t:2")...)
		if !errors.Is(late, mapping.ErrVanished) || !errors.Is(noted, mapping.ErrVanished) || len(left) > 0 {
			t.Errorf("rows: %v; a note: %v; keys left: %v", late, noted, left)
		}
		// An arrival that was in flight when the version went has its note if the version comes back.
		client.HSet(t.Context(), w.table.Marker, mapping.MarkerField, w.table.MarkerID)
		again := []growth.Note{{Place: "g:t:0"}, {Place: "g:t:0", Offset: 1}, {Place: "g:t:1"}}
		if err := w.open(t, time.Hour, 1000).Note(t.Context(), again); err != nil || !again[0].Earlier || again[1].Earlier ||
			!again[2].Earlier {
			t.Errorf("notes of a version that came back: %+v, %v", again, err)
		}
	})
}

// A damaged row or note is no outage: what needs it is degraded.
func TestArrivalsDamaged(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a := w.open(t, time.Hour, 10)
		mustKeep(t, a, arrivedAs("q", 1, 0.5))
		client.HSet(t.Context(), w.table.bucket(bucketOf("p", a.buckets), a.epoch.Load()), "p", "short")
		rows, seen := find(t, a, []string{"p", "q"}, []string{"p"})
		if !rows[0].Unread || !rows[1].Known || !seen[0].Row.Unread || a.Stats().Damaged != 2 {
			t.Errorf("rows %+v, seen %+v, stats %+v", rows, seen[0].Row, a.Stats())
		}
		client.HSet(t.Context(), w.table.notes("g:t:0"), "5", "\x01\x00\x00\x00\x00\x00\x00\x00\x09")
		notes := []growth.Note{{Place: "g:t:0", Offset: 5, Record: 1}, {Place: "g:t:0", Offset: 6, Record: 1}}
		if err := a.Note(t.Context(), notes); err != nil || !notes[0].Lost || notes[1].Lost {
			t.Errorf("notes %+v, %v", notes, err)
		}
		for _, want := range []string{"id=p error=\"1 bytes have the checksum ",
			"place=g:t:0 offset=5 error=\"5 bytes have the checksum "} {
			if !strings.Contains(w.log.String(), want) {
				t.Errorf("no %s in the log:\n%s", want, w.log.String())
			}
		}
		client.Set(t.Context(), w.table.count(a.epoch.Load()), "many", 0)
		if _, err := a.Find(t.Context(), []string{"q"}, make([]attach.Row, 1), []string{"q"},
			make([]*growth.ArrivalRow, 1)); !errors.Is(err, mapping.ErrDamaged) {
			t.Errorf("a count that is none is taken: %v", err)
		}
	})
}

// An arrival has one encoding, and other bytes are refused.
func TestArrivedCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.SliceOfNDistinct(rapid.Int32Range(0, 1<<31-1), 0, 6, rapid.ID).Draw(t, "places")
		slices.Sort(places)
		want := arrivedAs("", rapid.Uint64().Draw(t, "record"), rapid.Float32Range(0, 9).Draw(t, "value"))
		if len(places) > 0 {
			want.Attached = places
		}
		data := AppendArrived([]byte("x"), &want)[1:]
		got, err := DecodeArrived(data, 30)
		expect.OK(t, err)
		expect.Same(t, &want, got, "decoded")
		cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		if a, err := DecodeArrived(data[:cut], 30); err == nil {
			t.Fatalf("%d of %d bytes are taken as %+v", cut, len(data), a)
		}
	})
}

func FuzzDecodeArrived(f *testing.F) {
	a := arrivedAs("", 7, 0.5, 0, 3, 200)
	f.Add(AppendArrived(nil, &a), 30)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, 4)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0}, 4) // a place past 2³¹-1
	f.Fuzz(func(t *testing.T, data []byte, synthetic int) {
		a, err := DecodeArrived(data, synthetic)
		if err == nil && !bytes.Equal(AppendArrived(nil, a), data) {
			t.Fatalf("%x is read as %+v, which is written otherwise", data, a)
		}
	})
}
