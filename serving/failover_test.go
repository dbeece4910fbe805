package serving

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/mapping"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// readers ask the current version all the time for rows that are not in memory. An answer equals the artifact's in
// memory, bit for bit; failing decides which errors may come instead.
type readers struct {
	want    map[string]answer
	failing func(error) bool

	answers, failures atomic.Int64
	last              atomic.Pointer[error] // failure
	stop              func()
}

func (r *readers) start(t *testing.T, w *Watcher, bundles ...*artifact.Bundle) {
	t.Helper()
	r.want = map[string]answer{}
	for _, b := range bundles {
		r.want[b.Manifest.Version] = mustAsk(t, inMemory(t, b, Options{}), bundles[0])
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	r.stop = func() { cancel(); wg.Wait() }
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				v := w.Current()
				got, err := ask(ctx, v, bundles[0], 5) // ids are the same in all bundles
				switch {
				case ctx.Err() != nil:
				case err != nil:
					r.failures.Add(1)
					r.last.Store(&err)
					if !r.failing(err) {
						t.Errorf("an answer of %s failed: %v", v.ID(), err)
						return
					}
				default:
					r.answers.Add(1)
					if diff := cmp.Diff(r.want[v.ID()], got); diff != "" {
						t.Errorf("answer of %s differs (-want +got):\n%s", v.ID(), diff)
						return
					}
				}
			}
		})
	}
}

// more waits for n more answers.
func (r *readers) more(t *testing.T, n int64) {
	t.Helper()
	for until, deadline := r.answers.Load()+n,
		time.Now().Add(30*time.Second); r.answers.Load() < until; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d answers and %d failures after 30 s, the last of which was: %v", r.answers.Load(), r.failures.Load(),
				*r.last.Load())
		}
	}
}

// TestClusterUnderLoad moves slots, of control keys and of rows, and kills a master, while batches are answered and a
// version is published. A move of slots disturbs nobody; while a master is dead answers fail, and none is wrong.
func TestClusterUnderLoad(t *testing.T) {
	c := startCluster(t, 3)
	at := c.Place(t)
	s := newServer(t, mapping.RedisOptions{URL: at.URL, Hosts: at.Hosts, Cluster: true, MaxRetries: 5}, at.Prefix)
	client := s.client.(*redis.ClusterClient)
	first, second := bundle(t, 1, "v1"), bundle(t, 2, "v2")
	s.publish(t, first)
	w, _ := newWatcherOf(t, s.client, s.prefix, "consumer", 0)
	mustServe(t, w, "v1")
	asking := &readers{failing: func(error) bool { return false }}
	asking.start(t, w, first, second)
	defer asking.stop()
	asking.more(t, 20)

	move := func(key string, during func()) {
		t.Helper()
		slot := int(client.ClusterKeySlot(t.Context(), key).Val())
		from := slot * 3 / slots
		moved := 0
		if err := c.moveSlot(slot, from, (from+1)%3, func() { moved++; during() }); err != nil || moved == 0 {
			t.Fatalf("%d keys moved with %s: %v", moved, key, err)
		}
		asking.more(t, 20)
	}
	move("{"+s.prefix+"}:current", func() {})
	move(s.dataOf(t, "v1")+":rows:0", func() { asking.more(t, 2) })
	s.publish(t, second)
	mustServe(t, w, "v2")
	asking.more(t, 20)
	move(s.dataOf(t, "v2")+":rows:3", func() {
		if err := s.publisher(t).SetCurrent(t.Context(), "v1", false); err != nil {
			t.Error(err)
		}
		mustServe(t, w, "v1")
		asking.more(t, 2)
	})
	asking.stop()
	if asking.failures.Load() > 0 {
		t.Errorf("%d of %d answers failed while slots moved", asking.failures.Load(), asking.answers.Load())
	}

	// A master with rows of v1 that is not the one of the control keys.
	dies := 0
	owner, err := client.MasterForKey(t.Context(), "{"+s.prefix+"}:current")
	expect.OK(t, err)
	for c.Nodes[dies].Addr == owner.Options().Addr {
		dies++
	}
	asking = &readers{failing: mapping.Unavailable}
	asking.start(t, w, first, second)
	defer asking.stop()
	asking.more(t, 20)
	expect.OK(t, c.killReplicated(dies))
	asking.more(t, 100)
	asking.stop()
	t.Logf("%d answers, %d failed while a master was dead", asking.answers.Load(), asking.failures.Load())
	runtime.GC()          // no batch uses v2 any more
	mustServe(t, w, "v1") // releases it
	if removed, err := s.publisher(t).Prune(t.Context(), 0); err != nil || len(removed) != 1 {
		t.Errorf("removed %q (%v) after the failover, want v2", removed, err)
	}
	mustAnswerLike(t, w.Current(), first)
}

// TestSentinelFailover: the client finds the new master by itself, and publishes and reads there.
func TestSentinelFailover(t *testing.T) {
	servers := startWatched(t)
	s := newServer(t, mapping.RedisOptions{URL: "redis://" + servers.sentinel.Addr,
		Sentinel: mapping.Sentinel{Master: "rivulet"}, MaxRetries: 3}, "test")
	first, second := bundle(t, 1, "v1"), bundle(t, 2, "v2")
	s.publish(t, first)
	w, log := newWatcherOf(t, s.client, s.prefix, "consumer", 0)
	mustServe(t, w, "v1")
	asking := &readers{failing: mapping.Unavailable}
	asking.start(t, w, first, second)
	defer asking.stop()
	asking.more(t, 20)
	servers.failover(t)
	asking.more(t, 100)
	asking.stop()
	t.Logf("%d answers, %d failed while there was no master", asking.answers.Load(), asking.failures.Load())
	log.take()
	publisher := s.publisher(t)
	for deadline := time.Now().Add(30 * time.Second); ; { // the pool remembers a failed dial for a second
		err := publisher.Publish(t.Context(), second, PublishOptions{Keep: -1})
		if err == nil {
			break
		}
		if time.Now().After(deadline) || !mapping.Unavailable(err) {
			t.Fatal(err)
		}
	}
	mustServe(t, w, "v2")
	mustAnswerLike(t, w.Current(), second)
	if got := log.take(); len(got) != 1 {
		t.Errorf("logged %q, want the version taken over", got)
	}
}

// TestRestartedEmpty: a Redis that comes back without anything makes lookups fail, and a publication of the same
// artifact repairs it.
func TestRestartedEmpty(t *testing.T) {
	server := harness.StartRedis(t)
	s := newServer(t, mapping.RedisOptions{URL: server.URL(), MaxRetries: 3}, "test")
	b := bundle(t, 1, "v1")
	s.publish(t, b)
	w, _ := newWatcherOf(t, s.client, s.prefix, "consumer", 0)
	mustServe(t, w, "v1")
	server.Kill()
	expect.OK(t, server.Start())
	if _, err := ask(t.Context(), w.Current(), b, 1); !errors.Is(err, mapping.ErrVanished) {
		t.Fatalf("error = %v, want that the version has vanished", err)
	}
	if err := tick(t, w); !errors.Is(err, ErrNothingPublished) {
		t.Fatalf("error = %v, want that nothing is published", err)
	}
	s.publish(t, b)
	mustServe(t, w, "v1")
	mustAnswerLike(t, w.Current(), b)
}
