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
		grown := one.Growth().Solve(batch)
		if diff := cmp.Diff(grown, other.Growth().Solve(batch)); diff != "" {
			t.Errorf("the row of an arrival hangs on the model that is served:\n%s", diff)
		}
		var arrived []growth.ArrivalRow
		for i, id := range []string{"a", "b", "c", "d"} {
			arrived = append(arrived, growth.ArrivalRow{ID: id, Row: grown.Row(i)})
		}
		for k, v := range []*Version{one, other} {
			expect.OK(t, v.Growth().Keep(t.Context(), arrived[2*k:2*k+2]))
		}
		for _, v := range []*Version{one, other} {
			rows := make([]attach.Row, 5)
			expect.OK(t, v.Growth().Find(t.Context(), []string{"d", "c", "b", "a", "z"}, rows))
			expect.Same(t, []attach.Row{grown.Row(3), grown.Row(2), grown.Row(1), grown.Row(0), {}}, rows, "rows for %s",
				v.Model())
		}
		if stats, ok := other.ArrivalStats(); !ok || stats.Rows != 4 || stats.Written != 2 {
			t.Errorf("stats %+v", stats)
		}

		s.publish(t, grows(t, "v2"))
		expect.OK(t, tick(t, w))
		rows := make([]attach.Row, 1)
		if err := w.Current().Growth().Find(t.Context(), []string{"a"}, rows); err != nil || rows[0].Known ||
			w.Current().ID() != "v2" {
			t.Errorf("version %s begins with a row of v1: %+v, %v", w.Current().ID(), rows[0], err)
		}
		s.lapse(t, "v1")
		expect.OK(t, s.publisher(t).Remove(t.Context(), "v1"))
		for _, key := range s.keys(t) {
			if strings.Contains(key, ":v1:") {
				t.Errorf("%s is left of v1", key)
			}
		}

		s.publish(t, b)
		expect.OK(t, tick(t, w))
		if err := w.Current().Growth().Find(t.Context(), []string{"a"}, rows); err != nil || rows[0].Known ||
			w.Current().ID() != "v1" {
			t.Errorf("version %s begins again with a row of before: %+v, %v", w.Current().ID(), rows[0], err)
		}
	})
}

// A forgotten id has no row under any version.
func TestForgetUnderEveryVersion(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		var served []*Version
		var last *Watcher
		for _, name := range []string{"v1", "v2"} {
			b := grows(t, name)
			s.publish(t, b)
			w, v := s.following(t, name, withGrowth("sgc"))
			last, served = w, append(served, v)
			row := v.Growth().Solve(attached(b, 2)).Row(0)
			expect.OK(t, v.Growth().Keep(t.Context(), []growth.ArrivalRow{{ID: "gone", Row: row}, {ID: "stays-" + name, Row: row}}))
		}
		known := make([]bool, 3)
		expect.OK(t, last.Forget(t.Context(), []string{"nobody", "gone", "stays-v1"}, known))
		expect.Same(t, []bool{false, true, true}, known, "known")
		for _, v := range served {
			rows := make([]attach.Row, 3)
			expect.OK(t, v.Growth().Find(t.Context(), []string{"gone", "stays-v1", "stays-v2"}, rows))
			if rows[0].Known || rows[1].Known || rows[2].Known != (v.ID() == "v2") {
				t.Errorf("%s has rows %+v", v.ID(), rows)
			}
		}
	})
}

// While Redis takes no writes, a version that may degrade goes on without rows, and says how many; another one fails,
// so that the batch is tried again. Reading goes on in both, also in a consumer that starts then.
func TestRefusedWrites(t *testing.T) {
	server := harness.StartRedis(t)
	s := newServer(t, mapping.RedisOptions{URL: server.URL()}, "p")
	b := grows(t, "v1")
	s.publish(t, b)
	o := withGrowth("sgc")
	_, waits := s.following(t, "one", o)
	o.Growth.Degrade = true
	w, log := s.watcher(t, "other")
	w.loader.options, w.loader.log = o, w.o.Log
	expect.OK(t, w.Load(t.Context()))
	degrades := w.Current()
	row, done := waits.Growth().Solve(attached(b, 2)).Row(0), 0
	for answer, refusing := range writeFaults(t, server, s) {
		refusing.begin()
		arrived := []growth.ArrivalRow{{ID: answer, Row: row}}
		expect.Error(t, waits.Growth().Keep(t.Context(), arrived), answer, "%s", answer)
		done++
		_, late := s.following(t, "late", o)
		for name, v := range map[string]*Version{"degrades": degrades, "late": late} {
			rows, found := make([]attach.Row, 1), make([]attach.Row, 1)
			err := errors.Join(v.Growth().Find(t.Context(), []string{answer}, found),
				v.Growth().Keep(t.Context(), arrived), v.Rows(t.Context(), b.Mapping.IDs[:1], rows))
			if err != nil || !rows[0].Known || found[0].Known || found[0].Unread {
				t.Errorf("%s: %s: %v, row of T %+v, of an arrival %+v", answer, name, err, rows[0], found[0])
			}
		}
		if stats, _ := degrades.ArrivalStats(); stats.Lost != uint64(done) {
			t.Errorf("%s: stats %+v", answer, stats)
		}
		if text := strings.Join(log.take(), "\n"); strings.Count(text, "cannot be written: predictions go on") != 1 ||
			!strings.Contains(text, answer) {
			t.Errorf("logged:\n%s", text)
		}
		refusing.end()
		err := degrades.Growth().Keep(t.Context(), arrived)
		if stats, _ := degrades.ArrivalStats(); err != nil || stats.Written != uint64(done) ||
			!strings.Contains(strings.Join(log.take(), "\n"), "are written again") {
			t.Errorf("after %s: %v, stats %+v", answer, err, stats)
		}
	}
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
		rows := make([]attach.Row, 1)
		err := errors.Join(v.Growth().Find(t.Context(), []string{"a"}, rows),
			v.Growth().Keep(t.Context(), []growth.ArrivalRow{{ID: "b", Row: v.Growth().Solve(attached(b, 2)).Row(0)}}))
		if err != nil || !rows[0].Unread {
			t.Errorf("%v; row %+v", err, rows[0])
		}
		if stats, _ := v.ArrivalStats(); stats.Lost != 1 || stats.Written != 0 {
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
