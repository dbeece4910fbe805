package arrivals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	"rivulet/test/harness"
)

func noteAt(place string, offset int64, record uint64, vals ...float32) growth.Note {
	n := growth.Note{Place: place, Offset: offset, Record: record}
	for k, val := range vals {
		n.Attached = append(n.Attached, int32(2*k))
		n.Rows = append(n.Rows, attach.Row{Known: true, Arrived: true, Cols: []int32{1, 29}, Vals: []float32{val, 2}})
	}
	return n
}

func mustNote(t *testing.T, a *Rows, notes ...growth.Note) []growth.Note {
	t.Helper()
	expect.OK(t, a.Note(t.Context(), notes))
	return notes
}

// Whoever comes second gets the note of the first, bit for bit; a note ends when its offset is committed, and only
// then.
func TestNotesOfOthersCount(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a, other := w.open(t, time.Hour, 1000), w.open(t, time.Hour, 1000)
		// Places that begin alike, and one with a hash tag.
		first := []growth.Note{noteAt("g:t:0", 7, 1, 0.5, 0.25), noteAt("g:t:0", 8, 2), noteAt("g:t:01", 7, 3, 1),
			noteAt("{g}:t:0", 7, 4, 2)}
		for k, n := range mustNote(t, a, slices.Clone(first)...) {
			if n.Earlier || n.Lost {
				t.Errorf("note %d: %+v", k, n)
			}
		}
		again := mustNote(t, other, noteAt("g:t:0", 7, 1, 9), noteAt("g:t:0", 8, 2, 9), noteAt("g:t:01", 7, 3),
			noteAt("{g}:t:0", 7, 4))
		for k := range first {
			first[k].Earlier = true
		}
		expect.Same(t, first, again, "who comes second")
		made := mustNote(t, other, noteAt("g:t:0", 7, 99, 3)) // of another record, in a topic that was made anew
		if made[0].Earlier || made[0].Rows[0].Vals[0] != 3 {
			t.Errorf("another record is given the note of one that was there before: %+v", made[0])
		}
		for _, key := range keysOf(t, client, w.table.Notes+"*") {
			if left := client.PTTL(t.Context(), key).Val(); left < noteTTL-time.Minute || left > noteTTL {
				t.Errorf("%s expires after %s", key, left)
			}
		}
		expect.OK(t, other.Forget(t.Context(), map[string]int64{"g:t:0": 8, "{g}:t:0": 8}))
		got := mustNote(t, a, noteAt("g:t:0", 7, 99), noteAt("g:t:0", 8, 2), noteAt("g:t:01", 7, 3), noteAt("{g}:t:0", 7, 4))
		var left []bool
		for _, n := range got {
			left = append(left, n.Earlier)
		}
		if !slices.Equal(left, []bool{false, true, true, false}) {
			t.Errorf("after offset 8 is the next, these are left: %v", left)
		}
		expect.OK(t, other.Forget(t.Context(), map[string]int64{"g:t:0": 9, "g:t:01": 9, "{g}:t:0": 9}))
		for _, key := range keysOf(t, client, w.table.Notes+":*") {
			if left := client.HGetAll(t.Context(), key).Val(); len(left) != 1 || left["generation"] != "0" {
				t.Errorf("once all is committed this is left of %s: %v", key, left)
			}
		}
	})
}

// A member that others have overtaken writes no note of records that they have committed; a group that was deleted
// begins to count anew.
func TestNotesOfAnOvertakenMember(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		stopped, other := w.open(t, time.Hour, 1000), w.open(t, time.Hour, 1000)
		in := func(generation int32, offset int64) growth.Note {
			n := noteAt("g:t:0", offset, uint64(offset), 1)
			n.Generation = generation
			return n
		}
		mustNote(t, other, in(10, 7))
		expect.OK(t, other.Forget(t.Context(), map[string]int64{"g:t:0": 8}))
		late := in(9, 7)
		if got := mustNote(t, stopped, late); !got[0].Overtaken || got[0].Earlier {
			t.Errorf("the overtaken member's note: %+v", got[0])
		}
		if got := mustNote(t, other, in(10, 7)); got[0].Earlier || got[0].Overtaken {
			t.Errorf("the overtaken member has left a note: %+v", got[0])
		}
		late.Confirmed = true
		for range 2 {
			if got := mustNote(t, stopped, late); got[0].Overtaken || !got[0].Earlier {
				t.Errorf("a note of a confirmed generation: %+v", got[0])
			}
		}
		if got := mustNote(t, stopped, in(9, 8)); got[0].Overtaken {
			t.Errorf("the confirmed generation is not remembered: %+v", got[0])
		}
	})
}

// More notes than fit into one round trip are stored all the same.
func TestManyNotes(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a := w.open(t, time.Hour, 1000)
		var notes []growth.Note
		for i := range int64(idsPerPipeline + 5) {
			notes = append(notes, noteAt("g:t:0", i, uint64(i), float32(i)))
		}
		mustNote(t, a, slices.Clone(notes)...)
		for i := range notes {
			notes[i].Rows = nil
			notes[i].Attached = nil
		}
		for i, n := range mustNote(t, a, notes...) {
			if !n.Earlier || n.Rows[0].Vals[0] != float32(i) {
				t.Fatalf("note %d: %+v", i, n)
			}
		}
	})
}

// Long ids are asked for in several round trips, none of which is large.
func TestLongIDsOfArrivalsAreCutIntoRoundTrips(t *testing.T) {
	w := newWorldOfArrivals(t, connect(t, "redis://"+miniredis.RunT(t).Addr()), "t:")
	a, sizes := w.openWith(t, Options{TTL: time.Hour, MaxRows: 1000}), &pipelineSizes{}
	a.client.(redis.UniversalClient).AddHook(sizes)
	var ids []string
	for i := range 64 {
		ids = append(ids, strings.Repeat("x", 100<<10)+fmt.Sprint(i))
	}
	mustKeep(t, a, arrivedAs(ids[63], 1, 1))
	if rows, _ := find(t, a, ids, nil); !rows[63].Known || rows[0].Known {
		t.Errorf("the last id is known: %t, the first: %t", rows[63].Known, rows[0].Known)
	}
	if sizes.n < 10 || sizes.most > 2<<20 {
		t.Errorf("%d round trips of at most %d bytes", sizes.n, sizes.most)
	}
}

// pipelineSizes is a hook that counts round trips, and the bytes of the largest.
type pipelineSizes struct{ n, most int }

func (*pipelineSizes) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*pipelineSizes) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (p *pipelineSizes) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		size := 0
		for _, cmd := range cmds {
			for _, arg := range cmd.Args() {
				size += len(fmt.Sprint(arg))
			}
		}
		p.n, p.most = p.n+1, max(p.most, size)
		return next(ctx, cmds)
	}
}

// A write counts once as many replicas have it as are asked for, and not before.
func TestReplicasHaveWhatWasWritten(t *testing.T) {
	t.Parallel()
	master, replica := harness.StartRedis(t, "--repl-diskless-sync-delay", "0"), harness.StartRedis(t)
	host, port, _ := strings.Cut(master.Addr, ":")
	if _, err := replica.Do("REPLICAOF", host, port); err != nil {
		t.Fatal(err)
	}
	if err := harness.Await(t.Context(), time.Minute, "a replica's link", func() bool {
		info, err := replica.Do("INFO", "replication")
		return err == nil && strings.Contains(fmt.Sprint(info), "master_link_status:up")
	}); err != nil {
		t.Fatal(err)
	}
	w := newWorldOfArrivals(t, connect(t, master.URL()), "t:")
	a := w.openWith(t, Options{TTL: time.Hour, MaxRows: 9, Replicas: 1, Limit: 20 * time.Second})
	mustKeep(t, a, arrivedAs("p", 1, 1))
	mustNote(t, a, noteAt("g:t:0", 7, 1))
	mustKeep(t, a, arrivedAs("q", 2, 1))
	there, err := replica.Do("HGET", w.table.notes("g:t:0"), "7")
	if rows, _ := replica.Do("GET", w.table.count(a.epoch.Load())); err != nil || there == nil || rows != "2" {
		t.Errorf("the replica has the note %q (%v) and %v rows", there, err, rows)
	}
	few := w.openWith(t, Options{TTL: time.Hour, MaxRows: 9, Replicas: 2, Limit: time.Second})
	for what, err := range map[string]error{
		"rows":  few.Keep(t.Context(), []growth.ArrivalRow{arrivedAs("p", 1, 1)}, growth.Fence{}),
		"notes": few.Note(t.Context(), []growth.Note{noteAt("g:t:0", 7, 1)}),
	} {
		if !errors.Is(err, mapping.ErrFewReplicas) || !mapping.TakesNoWrites(err) ||
			!strings.Contains(err.Error(), "attach.replicas says: 1 of 2") {
			t.Errorf("%s, on one replica of two: %v", what, err)
		}
	}
}

func TestReplicasOfAClusterAreRefused(t *testing.T) {
	client, prefix := connectAt(t, harness.SharedCluster(t).Place(t))
	_, err := Open(t.Context(), client, newWorldOfArrivals(t, client, prefix).table, Options{MaxRows: 1, Replicas: 1})
	if err == nil || !strings.Contains(err.Error(), "a cluster cannot wait for replicas") {
		t.Error(err)
	}
}

// An answer that no writes are taken now is told from others.
func TestTakesNoWrites(t *testing.T) {
	for text, want := range map[string]bool{
		"OOM command not allowed when used memory > 'maxmemory'. script: 1a, on @user_script:2.":               true,
		"ERR Error running script (call to f_1a): @user_script:21: @user_script: 21: -OOM command not allowed": true,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.":     true,
		"NOREPLICAS Not enough good replicas to write.":                                                        true,
		"READONLY You can't write against a read only replica.":                                                true,
		"ERR Error running script (call to f_1a): @user_script:2: -NOPERM no rights":                           false,
		"NOPERM No permissions to access a key":                                                                false,
		"LOADING Redis is loading":                                                                             false,
	} {
		if got := mapping.TakesNoWrites(answered(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	if mapping.TakesNoWrites(errors.New("OOM")) {
		t.Error("an error that is no answer counts as one")
	}
}

// answered is an error that Redis answered.
type answered string

func (a answered) Error() string { return string(a) }
func (answered) RedisError()     {}

// A note has one encoding, and other bytes are refused.
func TestNoteCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := noteAt("", 0, rapid.Uint64().Draw(t, "record"))
		places := rapid.SliceOfNDistinct(rapid.Int32Range(0, 1<<31-1), 0, 6, rapid.ID).Draw(t, "places")
		slices.Sort(places)
		for range places {
			row := attach.Row{Known: true, Arrived: true}
			if rapid.Bool().Draw(t, "entries") {
				row.Cols, row.Vals = []int32{3}, []float32{rapid.Float32Range(0, 9).Draw(t, "value")}
			}
			want.Rows = append(want.Rows, row)
		}
		if len(places) > 0 {
			want.Attached = places
		}
		data := AppendNote([]byte("x"), &want)[1:]
		got, err := DecodeNote(data, 30)
		expect.OK(t, err)
		expect.Same(t, &want, got, "decoded")
		cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		if n, err := DecodeNote(data[:cut], 30); err == nil {
			t.Fatalf("%d of %d bytes are taken as %+v", cut, len(data), n)
		}
		if n, err := DecodeNote(append(data, 0), 30); err == nil {
			t.Fatalf("a byte too many is taken: %+v", n)
		}
	})
}

func FuzzDecodeNote(f *testing.F) {
	n := noteAt("", 0, 7, 0.5, 0.25)
	f.Add(AppendNote(nil, &n), 30)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, 4)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0x07, 1, 0, 0, 1, 0}, 4) // a place past 2³¹-1
	f.Fuzz(func(t *testing.T, data []byte, synthetic int) {
		n, err := DecodeNote(data, synthetic)
		if err == nil && !bytes.Equal(AppendNote(nil, n), data) {
			t.Fatalf("%x is read as %+v, which is written otherwise", data, n)
		}
	})
}
