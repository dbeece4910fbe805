package serving

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/mapping"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// grows returns an artifact whose arrivals can get rows.
func grows(t *testing.T, version string) *artifact.Bundle {
	t.Helper()
	b := artifacttest.Several(4, artifacttest.Size{Nodes: 300, Synthetic: 12, Features: 7, Classes: 4})
	b.Growth = artifacttest.Growth(4, b)
	return sealed(t, b, version)
}

// withGrowth returns options under which arrivals get rows.
func withGrowth(model string) Options {
	return Options{Model: model, Growth: GrowthOptions{On: true, TTL: time.Hour, MaxRows: 1000}}
}

// following returns a watcher that serves CURRENT.
func (s *server) following(t *testing.T, name string, o Options) (*Watcher, *Version) {
	t.Helper()
	w, _ := s.watcher(t, name)
	w.loader.options = o
	expect.OK(t, w.Load(t.Context()))
	return w, w.Current()
}

// Two consumers that serve different models give an arrival the same row, and each finds the other's. A version begins
// without rows, and rows of an old one are removed with it.
func TestArrivalsThroughRedis(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := grows(t, "v1")
		s.publish(t, b)
		_, one := s.following(t, "one", withGrowth("sgc"))
		w, other := s.following(t, "other", withGrowth("gcn"))
		batch := attached(b, 4)
		grown := one.Grow(batch)
		if diff := cmp.Diff(grown, other.Grow(batch)); diff != "" {
			t.Errorf("the row of an arrival hangs on the model that is served:\n%s", diff)
		}
		var arrived []growth.ArrivalRow
		for i, id := range []string{"a", "b", "c", "d"} {
			arrived = append(arrived, growth.ArrivalRow{ID: id, Record: uint64(i), Row: grown.Row(i)})
		}
		for k, v := range []*Version{one, other} {
			expect.OK(t, v.KeepArrivals(t.Context(), arrived[2*k:2*k+2], growth.Fence{}))
		}
		for _, v := range []*Version{one, other} {
			rows, seen := make([]attach.Row, 5), make([]*growth.ArrivalRow, 1)
			if _, err := v.FindArrivals(t.Context(), []string{"d", "c", "b", "a", "z"}, rows, []string{"b"}, seen); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]attach.Row{grown.Row(3), grown.Row(2), grown.Row(1), grown.Row(0), {}}, rows); diff != "" ||
				seen[0] == nil || seen[0].Record != 1 {
				t.Errorf("%s finds b as %+v and other rows (-want +got):\n%s", v.Model(), seen[0], diff)
			}
			if stats, ok := v.ArrivalStats(); !ok || stats.Rows != 4 || stats.Written != 2 {
				t.Errorf("stats %+v", stats)
			}
		}

		s.publish(t, grows(t, "v2"))
		expect.OK(t, tick(t, w))
		rows := make([]attach.Row, 1)
		if _, err := w.Current().FindArrivals(t.Context(), []string{"a"}, rows, nil, nil); err != nil || rows[0].Known ||
			w.Current().ID() != "v2" {
			t.Errorf("version %s begins with a row of v1: %+v, %v", w.Current().ID(), rows[0], err)
		}
		inFlight := func() []growth.Note { return []growth.Note{{Place: "g:t:0", Offset: 5, Record: 1}} }
		expect.OK(t, one.NoteArrivals(t.Context(), inFlight()))
		s.lapse(t, "v1")
		expect.OK(t, s.publisher(t).Remove(t.Context(), "v1"))
		for _, key := range s.keys(t) {
			if strings.Contains(key, ":v1:") && !strings.Contains(key, ":v1:notes:") {
				t.Errorf("%s is left of v1", key)
			}
		}

		s.publish(t, b)
		expect.OK(t, tick(t, w))
		notes, rows := inFlight(), make([]attach.Row, 1)
		if err := w.Current().NoteArrivals(t.Context(), notes); err != nil || w.Current().ID() != "v1" || !notes[0].Earlier {
			t.Errorf("a record that was in flight when its version was removed and published again has no note: %+v, %v",
				notes[0], err)
		}
		if _, err := w.Current().FindArrivals(t.Context(), []string{"a"}, rows, nil, nil); err != nil || rows[0].Known {
			t.Errorf("the version begins again with a row of before: %+v, %v", rows[0], err)
		}
	})
}

// While Redis takes no writes, a version that may degrade goes on without rows and notes, and says how many; another
// one fails, so that the batch is tried again. Reading goes on in both.
func TestRefusedWrites(t *testing.T) {
	server := harness.StartRedis(t)
	s := newServer(t, mapping.RedisOptions{URL: server.URL()}, "p")
	b := grows(t, "v1")
	s.publish(t, b)
	o := withGrowth("sgc")
	_, waits := s.following(t, "one", o)
	o.Growth.Degrade = true
	_, degrades := s.following(t, "other", o)
	row, done := waits.Grow(attached(b, 2)).Row(0), 0
	for answer, refusing := range writeFaults(t, server, s) {
		refusing.begin()
		arrived := []growth.ArrivalRow{{ID: answer, Record: 1, Row: row}}
		note := func() []growth.Note { return []growth.Note{{Place: "g:t:0", Offset: int64(done), Record: 1}} }
		for what, err := range map[string]error{"rows": waits.KeepArrivals(t.Context(), arrived, growth.Fence{}),
			"notes": waits.NoteArrivals(t.Context(), note())} {
			expect.Error(t, err, answer, "%s: %s", answer, what)
		}
		done++
		notes, rows := note(), make([]attach.Row, 1)
		_, err := degrades.FindArrivals(t.Context(), []string{answer}, make([]attach.Row, 1), nil, nil)
		err = errors.Join(err, degrades.KeepArrivals(t.Context(), arrived, growth.Fence{}),
			degrades.NoteArrivals(t.Context(), notes),
			degrades.Rows(t.Context(), b.Mapping.IDs[:1], rows))
		if stats, _ := degrades.ArrivalStats(); err != nil || !notes[0].Lost || !rows[0].Known ||
			stats.Lost != uint64(done) || stats.Unnoted != uint64(done) {
			t.Errorf("%s: %v, note %+v, row %+v, stats %+v", answer, err, notes[0], rows[0], stats)
		}
		refusing.end()
		notes = note()
		err = errors.Join(degrades.KeepArrivals(t.Context(), arrived, growth.Fence{}),
			degrades.NoteArrivals(t.Context(), notes))
		if stats, _ := degrades.ArrivalStats(); err != nil || notes[0].Lost || stats.Written != uint64(done) {
			t.Errorf("after %s: %v, note %+v, stats %+v", answer, err, notes[0], stats)
		}
	}
}

// A consumer that starts while Redis takes no writes serves if it may degrade, marks what depends on arrivals, and says
// that it is writes that fail; rows and notes are written as soon as Redis takes them. One that waits is not ready.
func TestStartWhileWritesAreRefused(t *testing.T) {
	server := harness.StartRedis(t)
	for answer, refusing := range writeFaults(t, server, newServer(t, mapping.RedisOptions{URL: server.URL()}, "")) {
		t.Run(answer, func(t *testing.T) {
			s := newServer(t, mapping.RedisOptions{URL: server.URL()}, answer)
			b := grows(t, "v1")
			s.publish(t, b)
			refusing.begin()
			o := withGrowth("sgc")
			waiting, _ := s.watcher(t, "waits")
			waiting.loader.options = o
			if err := waiting.Load(t.Context()); err == nil || waiting.Ready() ||
				!strings.Contains(err.Error(), "writing their settings: "+answer) {
				t.Errorf("one that waits: %v", err)
			}
			o.Growth.Degrade = true
			w, log := s.watcher(t, "degrades")
			w.loader.options, w.loader.log = o, w.o.Log
			expect.OK(t, w.Load(t.Context()))
			v := w.Current()
			rows, seen, notes := make([]attach.Row, 1), make([]*growth.ArrivalRow, 1), []growth.Note{{Place: "g:t:0"}}
			arrived := []growth.ArrivalRow{{ID: "b", Record: 1, Row: v.Grow(attached(b, 2)).Row(0)}}
			_, err := v.FindArrivals(t.Context(), []string{"a"}, rows, []string{"b"}, seen)
			err = errors.Join(err, v.NoteArrivals(t.Context(), notes), v.KeepArrivals(t.Context(), arrived, growth.Fence{}))
			if err != nil || !rows[0].Unread || seen[0] == nil || !seen[0].Row.Unread || !notes[0].Lost {
				t.Errorf("%v; row %+v, own %+v, note %+v", err, rows[0], seen[0], notes[0])
			}
			if stats, on := v.ArrivalStats(); !on || stats.Lost != 2 || stats.Unnoted != 1 {
				t.Errorf("stats %+v", stats)
			}
			if err := tick(t, w); err != nil { // it goes on following CURRENT
				t.Error(err)
			}
			if text := strings.Join(log.take(), "\n"); strings.Count(text, "cannot be written: predictions go on") != 1 ||
				!strings.Contains(text, answer) {
				t.Errorf("logged:\n%s", text)
			}
			refusing.end()
			v.tried = time.Time{} // the second until it tries again is over
			notes = []growth.Note{{Place: "g:t:0"}}
			if err := errors.Join(v.KeepArrivals(t.Context(), arrived, growth.Fence{}),
				v.NoteArrivals(t.Context(), notes)); err != nil ||
				notes[0].Lost {
				t.Errorf("after it: %v, note %+v", err, notes[0])
			}
			if stats, _ := v.ArrivalStats(); stats.Written != 1 ||
				!strings.Contains(strings.Join(log.take(), "\n"), "are written again") {
				t.Errorf("after it: stats %+v", stats)
			}
		})
	}
}

// A version whose rows of arrivals have damaged settings is served, marks what depends on arrivals, and says why.
func TestDamagedSettingsOfArrivals(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := grows(t, "v1")
		s.publish(t, b)
		s.following(t, "first", withGrowth("sgc"))
		for _, key := range s.keys(t) {
			if strings.HasSuffix(key, ":arrivals") {
				s.client.HSet(t.Context(), key, "seal", "damaged")
			}
		}
		w, log := s.watcher(t, "second")
		w.loader.options, w.loader.log = withGrowth("sgc"), w.o.Log
		expect.OK(t, w.Load(t.Context()))
		v := w.Current()
		rows, notes := make([]attach.Row, 1), []growth.Note{{Place: "g:t:0"}}
		arrived := []growth.ArrivalRow{{ID: "b", Record: 1, Row: v.Grow(attached(b, 2)).Row(0)}}
		use := func() error {
			_, err := v.FindArrivals(t.Context(), []string{"a"}, rows, nil, nil)
			return errors.Join(err, v.NoteArrivals(t.Context(), notes), v.KeepArrivals(t.Context(), arrived, growth.Fence{}))
		}
		err := use()
		stats, _ := v.ArrivalStats()
		if text := strings.Join(log.take(), "\n"); err != nil || !rows[0].Unread || !notes[0].Lost || stats.Lost != 1 ||
			stats.Unnoted != 1 || strings.Count(text, "their seal says") != 1 {
			t.Errorf("%v; row %+v, note %+v, stats %+v, logged:\n%s", err, rows[0], notes[0], stats, text)
		}
	})
}

// writeFault is a state of Redis in which it takes no writes.
type writeFault struct{ begin, end func() }

// writeFaults returns all such states, by the beginning of the answer to a write.
func writeFaults(t *testing.T, server *harness.Redis, s *server) map[string]writeFault {
	command := func(text string) func() { return func() { s.do(t, text) } }
	// Where the file of the data should be is a directory, as if the disk were full. Redis saves after many changes, so
	// it looks at whether the last time succeeded.
	obstacle := filepath.Join(server.Dir, "dump.rdb", "directory")
	save := func(status string) {
		s.do(t, "BGSAVE")
		s.until(t, "rdb_last_bgsave_status:"+status, "rdb_bgsave_in_progress:0")
	}
	return map[string]writeFault{
		"OOM":        {command("CONFIG SET maxmemory 1"), command("CONFIG SET maxmemory 0")},
		"NOREPLICAS": {command("CONFIG SET min-replicas-to-write 1"), command("CONFIG SET min-replicas-to-write 0")},
		"READONLY":   {command("REPLICAOF 127.0.0.1 1"), command("REPLICAOF NO ONE")},
		"MISCONF": {func() {
			if err := errors.Join(os.MkdirAll(obstacle, 0o700),
				s.client.(*redis.Client).ConfigSet(t.Context(), "save", "3600 1000000").Err()); err != nil {
				t.Fatal(err)
			}
			save("err")
		}, func() {
			expect.OK(t, os.RemoveAll(filepath.Dir(obstacle)))
			save("ok")
		}},
	}
}

// until waits until INFO has all of these lines.
func (s *server) until(t *testing.T, lines ...string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		info := s.client.(*redis.Client).Info(t.Context(), "persistence").Val()
		if !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(info, line+"\r\n") }) {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("waited a minute for %v in:\n%s", lines, info)
		}
	}
}

// do sends a command.
func (s *server) do(t *testing.T, command string) {
	t.Helper()
	var args []any
	for _, word := range strings.Fields(command) {
		args = append(args, word)
	}
	if err := s.client.(*redis.Client).Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(command, ": ", err)
	}
}

// While Redis is away, nothing can be found out of arrivals; and rows of a version that is gone are given up.
func TestArrivalsOfAVersionThatIsAway(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := grows(t, "v1")
		s.publish(t, b)
		o := withGrowth("sgc")
		o.Growth.Degrade = true
		w, _ := s.watcher(t, "one")
		w.loader.options = o
		w.loader.guard = mapping.NewGuard(mapping.GuardOptions{Degrade: true})
		expect.OK(t, w.Load(t.Context()))
		v := w.Current()
		expect.OK(t, s.client.Del(t.Context(), keysOf(s.prefix).Complete("v1")).Err())
		rows, seen, notes := make([]attach.Row, 1), make([]*growth.ArrivalRow, 1), []growth.Note{{Place: "g:t:0"}}
		_, err := v.FindArrivals(t.Context(), []string{"a"}, rows, []string{"b"}, seen)
		err = errors.Join(err, v.NoteArrivals(t.Context(), notes),
			v.KeepArrivals(t.Context(), []growth.ArrivalRow{{ID: "b", Row: v.Grow(attached(b, 2)).Row(0)}}, growth.Fence{}))
		if err != nil || !rows[0].Unread || seen[0] == nil || !seen[0].Row.Unread || !notes[0].Lost {
			t.Errorf("%v; row %+v, own %+v, note %+v", err, rows[0], seen[0], notes[0])
		}
		if stats, _ := v.ArrivalStats(); stats.Lost != 1 || stats.Unnoted != 1 || stats.Written != 0 {
			t.Errorf("stats %+v", stats)
		}
	})
}

// A version that cannot give rows is refused if they are wanted, and the error says what helps.
func TestArrivalsRefused(t *testing.T) {
	plain := several(t, "v1")
	if _, _, err := New(plain, nil, withGrowth("")); err == nil || !strings.Contains(err.Error(), "trainer train") {
		t.Errorf("an artifact of before: %v", err)
	}
	o := withGrowth("sgc")
	o.Attachment = artifact.AttachJoint
	if _, _, err := New(grows(t, "v1"), nil, o); err == nil || !strings.Contains(err.Error(), "attachment is joint") {
		t.Errorf("joint attachment: %v", err)
	}
	v, _, err := New(plain, nil, Options{})
	expect.OK(t, err)
	if _, ok := v.ArrivalStats(); ok {
		t.Error("a version whose arrivals get no rows counts them")
	}
}
