package serving

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/serving/keyspace"
	"rivulet/test/expect"
)

// lapse lets all heartbeats of a version lapse.
func (s *server) lapse(t *testing.T, version string) {
	t.Helper()
	key := "{" + s.prefix + "}:holders"
	for _, member := range s.client.ZRange(t.Context(), key, 0, -1).Val() {
		if v, _ := keyspace.SplitHolder(member); v == version {
			s.client.ZAdd(t.Context(), key, redis.Z{Score: 1, Member: member})
		}
	}
}

func TestPruneSparesWhatIsUsed(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		for i := range 4 {
			s.publish(t, bundle(t, uint64(i), fmt.Sprintf("v%d", i)))
			if i == 1 {
				w, _ := s.watcher(t, "consumer") // still serves v1 when v3 is CURRENT
				mustServe(t, w, "v1")
				defer func() { _ = w.Current() }()
			}
		}
		removed, err := p.Prune(t.Context(), 0)
		if err != nil || !slices.Equal(removed, []string{"v2", "v0"}) {
			t.Fatalf("removed %q (%v), want v2 and v0: v3 is CURRENT and v1 is held", removed, err)
		}
		for version, want := range map[string]bool{"v0": false, "v1": true, "v2": false, "v3": true} {
			if got := s.data(t, version+":"); (len(got) > 0) != want {
				t.Errorf("%s has data: %t, want %t: %q", version, !want, want, got)
			}
		}
		if err := p.Remove(t.Context(), "v1"); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "by consumer") {
			t.Errorf("error = %v, want that consumer uses v1", err)
		}
		if err := p.Remove(t.Context(), "v3"); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "it is CURRENT") {
			t.Errorf("error = %v, want that v3 is CURRENT", err)
		}
		expect.Error(t, p.Remove(t.Context(), "v2"), "no version has that name")
		s.lapse(t, "v1") // as if the consumer had been killed
		if removed, err := p.Prune(t.Context(), 0); err != nil || !slices.Equal(removed, []string{"v1"}) {
			t.Errorf("removed %q (%v), want v1", removed, err)
		}
	})
}

func TestPublishKeepsWhatWasServedLast(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		for i := range 3 {
			s.publish(t, bundle(t, uint64(i), fmt.Sprintf("v%d", i)))
		}
		if err := p.SetCurrent(t.Context(), "v0", false); err != nil { // rolled back far
			t.Fatal(err)
		}
		expect.OK(t, p.Publish(t.Context(), bundle(t, 3, "v3"), PublishOptions{}))
		infos, err := p.Versions(t.Context())
		if err != nil || len(infos) != 2 || infos[0].Version != "v0" || infos[1].Version != "v3" {
			t.Errorf("versions are %+v (%v), want v0, which was served before, and v3", infos, err)
		}
	})
}

// A version that was published beside CURRENT, and has not been CURRENT, stays for a day although nobody serves it. It
// does not count among those that are kept for rolling back, and an older one goes before these.
func TestPruneSparesAVersionThatIsNewAndUntried(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		s.publish(t, bundle(t, 1, "v1"))
		s.publish(t, bundle(t, 2, "v2"))
		expect.OK(t, p.Publish(t.Context(), bundle(t, 3, "v3"), PublishOptions{Inactive: true}))
		s.mustCurrent(t, "v2")
		if removed, err := p.Prune(t.Context(), 1); err != nil || len(removed) > 0 {
			t.Errorf("removed %q (%v), want none: v1 is kept, and v3 is new", removed, err)
		}
		now, err := s.client.Time(t.Context()).Result()
		expect.OK(t, err)
		yesterday := now.Add(-untriedFor).UnixMilli()
		expect.OK(t, s.client.HSet(t.Context(), keysOf(s.prefix).Complete("v3"), "published_ms", yesterday).Err())
		if removed, err := p.Prune(t.Context(), 1); err != nil || !slices.Equal(removed, []string{"v3"}) {
			t.Errorf("removed %q (%v), want v3, which is a day old", removed, err)
		}
		if removed, err := p.Prune(t.Context(), 0); err != nil || !slices.Equal(removed, []string{"v1"}) {
			t.Errorf("removed %q (%v), want v1: it was CURRENT", removed, err)
		}
	})
}

func TestPruneWithoutCurrent(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		s.publish(t, bundle(t, 1, "v1"))
		s.publish(t, bundle(t, 2, "v2"))
		s.client.Del(t.Context(), "{"+s.prefix+"}:current")
		if removed, err := s.publisher(t).Prune(t.Context(), 0); err != nil || len(removed) > 0 {
			t.Errorf("removed %q (%v) while it is open what is CURRENT", removed, err)
		}
	})
}

// TestPruneInterrupted cuts a removal at each request or answer; the next one ends it, and the version is never served
// in between.
func TestPruneInterrupted(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		for _, what := range []fault{requestLost, answerLost} {
			for at := 1; ; at++ {
				done := false
				t.Run(fmt.Sprintf("%d at %d", what, at), func(t *testing.T) {
					s.clear(t)
					s.publish(t, bundle(t, 1, "v1"))
					s.publish(t, bundle(t, 2, "v2"))
					client := s.connect(t)
					client.AddHook(&faults{fail: func(call int, _ string) fault {
						if call < at {
							return fine
						} else if call == at {
							return what
						}
						return requestLost
					}})
					_, err := newPublisher(t, client, s.prefix).Prune(t.Context(), 0)
					done = err == nil
					if err != nil && !errors.Is(err, errInjected) {
						t.Fatal(err)
					}
					p := s.publisher(t)
					infos, err := p.Versions(t.Context())
					expect.OK(t, err)
					if infos[0].State == Deleting {
						if err := p.SetCurrent(t.Context(), "v1", false); !errors.Is(err, ErrIncomplete) {
							t.Errorf("error = %v, want that v1, half removed, cannot be CURRENT", err)
						}
					}
					s.publish(t, bundle(t, 1, "v1")) // wanted again, before it is gone
					w, _ := s.watcher(t, "consumer")
					mustServe(t, w, "v1")
					if _, err := p.Prune(t.Context(), 0); err != nil {
						t.Fatal(err)
					}
					mustAnswerLike(t, w.Current(), bundle(t, 1, "v1"))
					s.mustHaveOneSerial(t, "v1")
					if left := s.data(t, "v2:"); len(left) > 0 {
						t.Errorf("v2 left %q", left)
					}
				})
				if done || t.Failed() {
					break
				}
			}
		}
	})
}

// TestPruneOfHalfPublished: a half-published version is removed if a newer one was published, and stays if it may
// still be continued.
func TestPruneOfHalfPublished(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		s.publish(t, bundle(t, 1, "v1"))
		client := s.connect(t)
		client.AddHook(&faults{fail: func(_ int, name string) fault {
			if name == "set" { // rows are there, files are not
				return requestLost
			}
			return fine
		}})
		if err := newPublisher(t, client, s.prefix).Publish(t.Context(), bundle(t, 2, "v2"),
			PublishOptions{}); !errors.Is(err, errInjected) {
			t.Fatal(err)
		}
		p := s.publisher(t)
		s.lapse(t, "v2")
		if removed, err := p.Prune(t.Context(), 0); err != nil || len(removed) > 0 {
			t.Fatalf("removed %q (%v), want v2 to stay: it is newer than CURRENT", removed, err)
		}
		s.publish(t, bundle(t, 3, "v3"))
		if removed, err := p.Prune(t.Context(), 9); err != nil || !slices.Equal(removed, []string{"v2"}) {
			t.Errorf("removed %q (%v), want v2", removed, err)
		}
		if left := s.data(t, "v2:"); len(left) > 0 {
			t.Errorf("v2 left %q", left)
		}
	})
}

// TestRemovedWhileBeingPublished: a publisher that paused for too long notices that its data are gone.
func TestRemovedWhileBeingPublished(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		s.publish(t, bundle(t, 1, "v1"))
		err := s.publisher(t).Publish(t.Context(), bundle(t, 2, "v2"), PublishOptions{Progress: func(int, int) {
			if err := s.publisher(t).Remove(t.Context(), "v2"); !errors.Is(err, ErrInUse) {
				t.Errorf("error = %v, want that v2 is in use by its publisher", err)
			}
			s.lapse(t, "v2")
			if err := s.publisher(t).Remove(t.Context(), "v2"); err != nil {
				t.Error(err)
			}
		}})
		expect.Error(t, err, "it was removed while it was being written")
		s.mustCurrent(t, "v1")
		if left := s.data(t, "v2:"); len(left) > 0 {
			t.Errorf("v2 left %q", left)
		}
	})
}
