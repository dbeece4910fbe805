package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/test/expect"
)

func TestNothingPublished(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		w, log := s.watcher(t, "consumer")
		for range 3 {
			if err := tick(t, w); !errors.Is(err, ErrNothingPublished) {
				t.Fatalf("error = %v, want that there is no version", err)
			}
		}
		if got := log.take(); len(got) != 1 || !strings.Contains(got[0], "no version is published") {
			t.Errorf("logged %q, want the trouble once", got)
		}
		s.publish(t, bundle(t, 1, "v1"))
		mustServe(t, w, "v1")
		if got := log.take(); len(got) != 2 || !strings.Contains(got[1], "following CURRENT again") {
			t.Errorf("logged %q, want the version and the end of the trouble", got)
		}
	})
}

// G10: TestBadVersionIsRefused damages v2 in every part; v1 goes on, and the reason is logged once.
func TestBadVersionIsRefused(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		marker := "{" + s.prefix + "}:v2:complete"
		blob := func() string { return s.dataOf(t, "v2") + ":blob:" }
		for _, tc := range []struct {
			name   string
			damage func(ctx context.Context) error
			want   string
		}{
			{"one byte of a model", func(ctx context.Context) error {
				return s.client.SetRange(ctx, blob()+"models/sgc.safetensors:0", 700, "\xff\xfe").Err()
			}, "file models/sgc.safetensors has SHA-256"},
			{"a longer file", func(ctx context.Context) error {
				return s.client.Append(ctx, blob()+"synthetic.safetensors:0", "more").Err()
			}, "file synthetic.safetensors has "},
			{"a missing part", func(ctx context.Context) error {
				return s.client.Del(ctx, blob()+"manifest.json:0").Err()
			}, "file manifest.json: part 1 of 1 is missing"},
			{"a newer layout", func(ctx context.Context) error {
				text := s.client.HGet(ctx, marker, "meta").Val()
				return s.client.HSet(ctx, marker, "meta", strings.Replace(text, `"layout":1`, `"layout":2`, 1)).Err()
			}, "meta.layout is 2, this build reads 1"},
			{"a layout of rows that is none", func(ctx context.Context) error {
				text := s.client.HGet(ctx, marker, "meta").Val()
				return s.client.HSet(ctx, marker, "meta", strings.Replace(text, `"buckets":8`, `"buckets":7`, 1)).Err()
			}, "meta: buckets is 7 for 300 rows, want a power of two of up to 64"},
			{"another hash", func(ctx context.Context) error {
				text := s.client.HGet(ctx, marker, "meta").Val()
				return s.client.HSet(ctx, marker, "meta", strings.Replace(text, mapping.HashName, "fnv", 1)).Err()
			}, `meta.hash is "fnv"`},
			{"other rows", func(ctx context.Context) error {
				text := s.client.HGet(ctx, marker, "meta").Val()
				return s.client.HSet(ctx, marker, "meta", strings.Replace(text, `"rows":300`, `"rows":301`, 1)).Err()
			}, "300 rows of M; Redis has v2, 12 and 301"},
			{"no meta", func(ctx context.Context) error { return s.client.HDel(ctx, marker, "meta").Err() }, "meta: "},
			{"no generation", func(ctx context.Context) error { return s.client.HDel(ctx, marker, "generation").Err() },
				`the serial number (field generation) is ""`},
			{"no marker", func(ctx context.Context) error { return s.client.Del(ctx, marker).Err() }, "no complete marker"},
			{"a name that is none", func(ctx context.Context) error {
				return s.client.Set(ctx, "{"+s.prefix+"}:current", "v2/../x", 0).Err()
			}, `version "v2/../x" is not`},
		} {
			t.Run(tc.name, func(t *testing.T) {
				s.clear(t)
				first := bundle(t, 1, "v1")
				s.publish(t, first)
				w, log := s.watcher(t, "consumer")
				mustServe(t, w, "v1")
				log.take()

				s.publish(t, bundle(t, 2, "v2"))
				expect.OK(t, tc.damage(t.Context()))
				for range 3 {
					expect.Error(t, tick(t, w), tc.want)
				}
				mustAnswerLike(t, w.Current(), first)
				if got := log.take(); len(got) != 1 || !strings.Contains(got[0], "serving=v1") {
					t.Errorf("logged %q, want the refusal once", got)
				}
				expect.OK(t, s.publisher(t).SetCurrent(t.Context(), "v1", false))
				mustServe(t, w, "v1")
				if got := log.take(); len(got) != 1 || !strings.Contains(got[0], "following CURRENT again") {
					t.Errorf("logged %q, want the end of the trouble", got)
				}
			})
		}
	})
}

// TestRefusedVersionIsTakenWhenPublishedAnew: a refusal belongs to a publication, not to its name.
func TestRefusedVersionIsTakenWhenPublishedAnew(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		first, second := bundle(t, 1, "v1"), bundle(t, 2, "v2")
		s.publish(t, first)
		s.publish(t, second)
		expect.OK(t, s.client.Del(t.Context(), s.dataOf(t, "v2")+":blob:manifest.json:0").Err())
		w, _ := s.watcher(t, "consumer")
		if err := tick(t, w); err == nil || w.Ready() {
			t.Fatalf("error = %v, want a refusal", err)
		}
		p := s.publisher(t)
		expect.OK(t, p.SetCurrent(t.Context(), "v1", false))
		mustServe(t, w, "v1") // and releases v2
		expect.OK(t, p.Remove(t.Context(), "v2"))
		s.publish(t, second)
		mustServe(t, w, "v2")
		mustAnswerLike(t, w.Current(), second)
	})
}

// What a version was refused for may pass without a new publication: after a new beginning it is tried once more.
func TestARefusedVersionIsTriedOnceMore(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := bundle(t, 1, "v1")
		s.publish(t, b)
		key := s.dataOf(t, "v1") + ":blob:manifest.json:0"
		manifest := s.client.Get(t.Context(), key).Val()
		expect.OK(t, s.client.Del(t.Context(), key).Err())
		w, _ := s.watcher(t, "consumer")
		for range 2 {
			if err := tick(t, w); err == nil {
				t.Fatal("the version is not refused")
			}
		}
		expect.OK(t, s.client.Set(t.Context(), key, manifest, 0).Err())
		if err := tick(t, w); err == nil {
			t.Fatal("the version is tried at every poll")
		}
		w.StartOver()
		mustServe(t, w, "v1")
	})
}

func TestOutage(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := bundle(t, 1, "v1")
		s.publish(t, b)
		client := s.connect(t)
		hook := &faults{fail: func(int, string) fault { return requestLost }}
		client.AddHook(hook)
		w, log := newWatcher(t, client, s.prefix, "consumer")
		if err := w.Load(t.Context()); !errors.Is(err, errInjected) ||
			!strings.Contains(err.Error(), "reading {"+s.prefix+"}:current: ") {
			t.Errorf("error = %v, want what was being read", err)
		}
		for at := range 6 { // also in the middle of loading, which is tried again
			hook.calls, hook.fail = 0, func(call int, _ string) fault {
				if call > at {
					return requestLost
				}
				return fine
			}
			if err := tick(t, w); !errors.Is(err, errInjected) || w.Ready() {
				t.Fatalf("after %d requests: error = %v, ready %t", at, err, w.Ready())
			}
		}
		if got := log.take(); len(got) != 1 {
			t.Errorf("logged %q, want the outage once", got)
		}
		hook.fail = nil
		mustServe(t, w, "v1")
		log.take()

		hook.fail = func(int, string) fault { return requestLost }
		for range 3 {
			if err := tick(t, w); !errors.Is(err, errInjected) || w.Current().ID() != "v1" {
				t.Fatalf("error = %v", err)
			}
		}
		if got := log.take(); len(got) != 1 || !strings.Contains(got[0], "serving=v1") {
			t.Errorf("logged %q, want the outage once", got)
		}
		hook.fail = nil
		mustServe(t, w, "v1")
		mustAnswerLike(t, w.Current(), b)
	})
}

func TestUnreachable(t *testing.T) {
	client, err := mapping.Connect(mapping.RedisOptions{URL: "redis://127.0.0.1:1", MaxRetries: 1, MinBackoff: 1,
		MaxBackoff: 1})
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	w, _ := newWatcher(t, client, "p", "consumer")
	expect.Error(t, w.Load(t.Context()), "reading {p}:current: ")
	err = newPublisher(t, client, "p").Publish(t.Context(), bundle(t, 1, "v1"), PublishOptions{})
	expect.Error(t, err, "publishing version v1: reading {p}:current: ")
}

// A pinned version that is not there is waited for: the line in the log names the setting, its value and the command that
// lists versions. Names that no version can have are refused in the same words.
func TestPinnedVersionThatIsNotThere(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		s.publish(t, bundle(t, 1, "v1"))
		for _, name := range []string{"v2", "v/2"} {
			w, log := s.watcher(t, "consumer-"+name[:1])
			w.o.Version = name
			for range 2 {
				if err := tick(t, w); err == nil || errors.Is(err, ErrNothingPublished) {
					t.Fatalf("%s: error %v, want that the version is not there", name, err)
				}
			}
			got := strings.Join(log.take(), "\n")
			for _, want := range []string{"cannot load the version that is pinned", fmt.Sprintf("setting version is %q", name)} {
				if !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), want) || strings.Contains(got, "CURRENT") ||
					strings.Count(got, "pinned") != 1 {
					t.Errorf("%s: logged %s, want %s, once, and nothing of CURRENT", name, got, want)
				}
			}
			if name != "v2" {
				continue
			}
			if !strings.Contains(got, "trainer versions") {
				t.Errorf("logged %s, want the command that lists versions", got)
			}
			expect.OK(t, s.publisher(t).Publish(t.Context(), bundle(t, 2, "v2"), PublishOptions{Inactive: true, Keep: -1}))
			mustServe(t, w, "v2")
			if got := strings.Join(log.take(), "\n"); !strings.Contains(got, "the version that is pinned is there") {
				t.Errorf("logged %s, want that the version is there", got)
			}
		}
	})
}

// TestVanishedVersion: a version that Redis lost is an error, and is loaded again when it is published again.
func TestVanishedVersion(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		first := bundle(t, 1, "v1")
		s.publish(t, first)
		w, log := s.watcher(t, "consumer")
		mustServe(t, w, "v1")
		lost := w.Current()
		s.clear(t)
		rows := make([]attach.Row, 1)
		if err := lost.Rows(t.Context(), []string{"nobody"}, rows); !errors.Is(err, mapping.ErrVanished) {
			t.Fatalf("error = %v, want that the version has vanished", err)
		}
		if err := tick(t, w); !errors.Is(err, ErrNothingPublished) || w.Current() != lost {
			t.Fatalf("error = %v", err)
		}
		log.take()

		other := bundle(t, 2, "v1") // with the same name
		s.publish(t, other)
		if err := lost.Rows(t.Context(), other.Mapping.IDs[:1], rows); !errors.Is(err, mapping.ErrVanished) {
			t.Fatalf("error = %v, want that the version has vanished: its S is not of these rows", err)
		}
		mustServe(t, w, "v1")
		mustAnswerLike(t, w.Current(), other)
		if got := log.take(); len(got) != 2 {
			t.Errorf("logged %q, want the version taken over and the end of the trouble", got)
		}
	})
}

// TestWholeM: an M that fits into the cache's memory is read with its version, and Redis is not asked for rows any
// more.
func TestWholeM(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := bundle(t, 1, "v1")
		s.publish(t, b)
		w, _ := newWatcherOf(t, s.client, s.prefix, "consumer", 1<<20)
		mustServe(t, w, "v1")
		s.clear(t)
		mustAnswerLike(t, w.Current(), b) // an unknown neighbour is in it
		if stats := w.Current().RowStats(); stats.Entries != len(b.Mapping.IDs) || stats.Misses != 0 || stats.Unknown == 0 {
			t.Errorf("counts of rows are %+v", stats)
		}
	})
}

// G9: TestSwapUnderReaders moves CURRENT while batches are answered: each batch is answered by a single version.
func TestSwapUnderReaders(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		first, second := bundle(t, 1, "v1"), bundle(t, 2, "v2")
		s.publish(t, first)
		s.publish(t, second)
		want := map[string]answer{
			"v1": mustAsk(t, inMemory(t, first, Options{}), first),
			"v2": mustAsk(t, inMemory(t, second, Options{}), second),
		}
		w, _ := s.watcher(t, "consumer")
		mustServe(t, w, "v2")
		p := s.publisher(t)
		for i := range 40 {
			version, before := []string{"v1", "v2"}[i%2], w.Current()
			if before.ID() == version {
				t.Fatalf("%s is served before CURRENT names it", version)
			}
			var readers sync.WaitGroup
			for range 3 { // a batch of the version before, and two of the one that is served by then
				readers.Go(func() {
					for k := range 3 {
						v := before
						if k > 0 {
							v = w.Current()
						}
						got, err := ask(t.Context(), v, first, 5) // ids are the same in both
						if diff := cmp.Diff(want[v.ID()], got); err != nil || diff != "" {
							t.Errorf("answer of %s differs (%v, -want +got):\n%s", v.ID(), err, diff)
						}
					}
				})
			}
			if err := p.SetCurrent(t.Context(), version, false); err != nil {
				t.Error(err)
			}
			mustServe(t, w, version)
			readers.Wait()
		}
	})
}

// TestOldVersionIsHeldWhileItIsUsed: a batch that began before a swap finds its rows, whatever is pruned meanwhile.
func TestOldVersionIsHeldWhileItIsUsed(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		first, second := bundle(t, 1, "v1"), bundle(t, 2, "v2")
		s.publish(t, first)
		w, _ := s.watcher(t, "consumer")
		mustServe(t, w, "v1")
		inBatch := w.Current()
		s.publish(t, second)
		mustServe(t, w, "v2")
		runtime.GC()
		mustServe(t, w, "v2")
		p := s.publisher(t)
		if removed, err := p.Prune(t.Context(), 0); err != nil || len(removed) > 0 {
			t.Fatalf("removed %q (%v) while a batch uses v1", removed, err)
		}
		mustAnswerLike(t, inBatch, first)
		runtime.KeepAlive(inBatch)

		runtime.GC()          // the batch is over
		mustServe(t, w, "v2") // releases v1
		if removed, err := p.Prune(t.Context(), 0); err != nil || !slices.Equal(removed, []string{"v1"}) {
			t.Errorf("removed %q (%v), want v1, which nobody uses", removed, err)
		}
		mustAnswerLike(t, w.Current(), second)
	})
}

func TestRunFollowsAndLeaves(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		first, second := bundle(t, 1, "v1"), bundle(t, 2, "v2")
		s.publish(t, first)
		w, _ := s.watcher(t, "consumer")
		clock := w.o.Clock.(*steps)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		clock.step()
		if got := w.Current(); got == nil || got.ID() != "v1" {
			t.Fatalf("after one interval %v is served, want v1", got)
		}
		s.publish(t, second)
		clock.step() // the poll that was due before
		clock.step()
		mustAnswerLike(t, w.Current(), second)
		infos, err := s.publisher(t).Versions(t.Context())
		if err != nil || !slices.Equal(infos[1].Holders, []string{"consumer"}) {
			t.Errorf("v2 is held by %q (%v)", infos[1].Holders, err)
		}

		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run ended with %v", err)
		}
		if held, err := s.client.ZRange(t.Context(), "{"+s.prefix+"}:holders", 0, -1).Result(); err != nil || len(held) > 0 {
			t.Errorf("holders after the end are %q (%v)", held, err)
		}
	})
}

func TestWatcherOptionsAreChecked(t *testing.T) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	good := WatcherOptions{Prefix: "p", Consumer: "c", Clock: newSteps(), Log: quiet}
	if _, err := NewWatcher(nil, good); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(o *WatcherOptions){
		"redis prefix is":           func(o *WatcherOptions) { o.Prefix = "{}" },
		"consumer is empty":         func(o *WatcherOptions) { o.Consumer = "" },
		"interval is -1s":           func(o *WatcherOptions) { o.Interval = -time.Second },
		"hold is 2s, want more":     func(o *WatcherOptions) { o.HoldFor = 2 * time.Second },
		"clock or log is not set":   func(o *WatcherOptions) { o.Clock = nil },
		"clock or log is not set ":  func(o *WatcherOptions) { o.Log = nil },
		"hold is 30s, want more th": func(o *WatcherOptions) { o.Interval = time.Minute },
	} {
		o := good
		change(&o)
		if _, err := NewWatcher(nil, o); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
}
