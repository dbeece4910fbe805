package serving

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rivulet/artifact/artifacttest"
	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/test/expect"
)

func TestPublishedVersionAnswersLikeItsArtifact(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := bundle(t, 1, "v1")
		var told []int
		err := s.publisher(t).Publish(t.Context(), b, PublishOptions{Progress: func(done, total int) {
			if total != 300 {
				t.Errorf("progress of %d rows, want 300", total)
			}
			told = append(told, done)
		}})
		expect.OK(t, err)
		if len(told) == 0 || told[len(told)-1] != 300 {
			t.Errorf("progress was %v, want it to end with 300", told)
		}
		w, log := s.watcher(t, "consumer")
		if w.Ready() || w.Current() != nil {
			t.Error("ready before anything was loaded")
		}
		expect.OK(t, w.Load(t.Context()))
		if !w.Ready() {
			t.Error("not ready after loading")
		}
		mustAnswerLike(t, w.Current(), b)
		for range 2 { // with and without the cache's help
			rows, want := make([]attach.Row, 300), make([]attach.Row, 300)
			if err := errors.Join(w.Current().Rows(t.Context(), b.Mapping.IDs, rows),
				mapping.FromArtifact(b.Mapping).Rows(t.Context(), b.Mapping.IDs, want)); err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				if !slices.Equal(rows[i].Cols, want[i].Cols) || !slices.Equal(rows[i].Vals, want[i].Vals) || !rows[i].Known {
					t.Fatalf("row of %q is %v, want %v", b.Mapping.IDs[i], rows[i], want[i])
				}
			}
		}
		if stats := w.Current().RowStats(); stats.Hits == 0 || stats.Misses == 0 {
			t.Errorf("cache counts %+v", stats)
		}
		if got := log.take(); len(got) != 1 || !strings.Contains(got[0], `msg="serving version" version=v1 previous=""`) {
			t.Errorf("logged %q, want one line of the version taken over", got)
		}
		mustServe(t, w, "v1")
		if got := log.take(); got != nil {
			t.Errorf("logged %q where nothing happened", got)
		}
	})
}

// TestPublishInterrupted cuts a publication at each of its requests, or at the answer to it, and then lets nothing more
// through, like a crash.
func TestPublishInterrupted(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		first, second := bundle(t, 1, "v1"), bundle(t, 2, "v2")
		for _, what := range []fault{requestLost, answerLost} {
			for at := 1; ; at++ {
				done := false
				t.Run(fmt.Sprintf("%d at %d", what, at), func(t *testing.T) {
					s.clear(t)
					s.publish(t, first)
					w, _ := s.watcher(t, "consumer")
					mustServe(t, w, "v1")

					client := s.connect(t)
					client.AddHook(&faults{fail: func(call int, _ string) fault {
						if call < at {
							return fine
						} else if call == at {
							return what
						}
						return requestLost
					}})
					err := newPublisher(t, client, s.prefix).Publish(t.Context(), second, PublishOptions{})
					done = err == nil
					if err != nil && !errors.Is(err, errInjected) {
						t.Fatalf("error = %v, want the injected one", err)
					}
					if err != nil && !strings.Contains(err.Error(), "publishing version v2: ") {
						t.Errorf("error %q does not say what was being done", err)
					}

					expect.OK(t, tick(t, w))
					if current, _ := s.publisher(t).Current(t.Context()); current != w.Current().ID() {
						t.Fatalf("CURRENT is %s, %s is served", current, w.Current().ID())
					}
					if w.Current().ID() == "v1" {
						mustAnswerLike(t, w.Current(), first)
					}

					if err := s.publisher(t).Publish(t.Context(), second, PublishOptions{}); err != nil {
						t.Fatalf("publishing again: %v", err)
					}
					mustServe(t, w, "v2")
					mustAnswerLike(t, w.Current(), second)
					s.mustHaveOneSerial(t, "v2")
				})
				if done || t.Failed() {
					break
				}
			}
		}
	})
}

// mustHaveOneSerial checks that an interruption has left nothing behind.
func (s *server) mustHaveOneSerial(t *testing.T, version string) {
	t.Helper()
	var serials []string
	for _, key := range s.data(t, version+":") {
		rest := strings.TrimPrefix(key, s.prefix+":"+version+":")
		serial, _, _ := strings.Cut(rest, ":")
		serials = append(serials, serial)
	}
	slices.Sort(serials)
	if got := slices.Compact(serials); len(got) != 1 {
		t.Errorf("serials %q of %s have data, want one", got, version)
	}
}

func TestPublishGoesOnWhereItStopped(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := sealed(t, artifacttest.Bundle(1, artifacttest.Size{Nodes: 80_000, Synthetic: 12, PerRow: 9}), "v1")
		stop := errors.New("stopped")
		client := s.connect(t)
		hook := &faults{}
		client.AddHook(hook)
		var told []int
		err := func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = stop
				}
			}()
			return newPublisher(t, client, s.prefix).Publish(t.Context(), b, PublishOptions{Progress: func(done, _ int) {
				if told = append(told, done); len(told) == 3 {
					panic(stop) // killed after the third pipeline, before it is noted
				}
			}})
		}()
		if !errors.Is(err, stop) {
			t.Fatalf("error = %v, want the publisher to be stopped", err)
		}
		s.mustCurrent(t, "")
		infos, err := s.publisher(t).Versions(t.Context())
		if err != nil || len(infos) != 1 || infos[0].State != Writing ||
			!slices.Equal(infos[0].Holders, []string{"publisher"}) {
			t.Fatalf("versions are %+v (%v), want v1 being written by its publisher", infos, err)
		}

		var again []int
		if err := s.publisher(t).Publish(t.Context(), b, PublishOptions{Progress: func(done, _ int) {
			again = append(again, done)
		}}); err != nil {
			t.Fatal(err)
		}
		if again[0] != told[2] || again[len(again)-1] != 80_000 {
			t.Errorf("first progress %v, second %v, want the second to begin with the third pipeline", told, again)
		}
		w, _ := s.watcher(t, "consumer")
		mustServe(t, w, "v1")
		mustAnswerLike(t, w.Current(), b)
	})
}

func TestPublishCountsBeforeTheMarker(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		for _, lost := range []string{":rows:3", ":blob:models/sgc.safetensors:0"} {
			s.clear(t)
			b := bundle(t, 1, "v1")
			client := s.connect(t)
			client.AddHook(&faults{fail: func(_ int, name string) fault {
				if name == "strlen" { // everything is written and is being counted
					s.client.Del(t.Context(), s.dataOf(t, "v1")+lost)
				}
				return fine
			}})
			err := newPublisher(t, client, s.prefix).Publish(t.Context(), b, PublishOptions{})
			expect.Error(t, err, "were written: did it restart, or does it evict keys?", "without %s", lost)
			s.mustCurrent(t, "")
			s.publish(t, b)
			w, _ := s.watcher(t, "consumer")
			mustServe(t, w, "v1")
			mustAnswerLike(t, w.Current(), b)
		}
	})
}

func TestPublishRefusesOtherContentOfTheName(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		s.publish(t, bundle(t, 1, "v1"))
		other := bundle(t, 2, "v1")
		for range 2 {
			err := s.publisher(t).Publish(t.Context(), other, PublishOptions{})
			expect.Error(t, err, "the name is taken by other content")
		}
		w, _ := s.watcher(t, "consumer")
		mustServe(t, w, "v1")
		mustAnswerLike(t, w.Current(), bundle(t, 1, "v1"))

		half := bundle(t, 3, "v2") // even if the first one was not completed
		client := s.connect(t)
		client.AddHook(&faults{fail: func(_ int, name string) fault {
			if name == "set" { // rows are there, files are not
				return requestLost
			}
			return fine
		}})
		if err := newPublisher(t, client, s.prefix).Publish(t.Context(), half, PublishOptions{}); !errors.Is(err,
			errInjected) {
			t.Fatal(err)
		}
		err := s.publisher(t).Publish(t.Context(), bundle(t, 4, "v2"), PublishOptions{})
		expect.Error(t, err, "the name is taken by other content")
	})
}

func TestPublishRefusesBeforeItWrites(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		withoutM := bundle(t, 1, "v1")
		withoutM.Mapping = nil
		invalid := bundle(t, 1, "v1")
		invalid.Synthetic.Labels[0] = 99
		unsealed := artifacttest.Bundle(1, artifacttest.Size{})
		for want, b := range map[string]func() error{
			"has no mapping": func() error { return s.publisher(t).Publish(t.Context(), withoutM, PublishOptions{}) },
			"y[0] is 99":     func() error { return s.publisher(t).Publish(t.Context(), invalid, PublishOptions{}) },
			"not sealed":     func() error { return s.publisher(t).Publish(t.Context(), unsealed, PublishOptions{}) },
		} {
			expect.Error(t, b(), want)
		}
		if keys := s.keys(t); len(keys) > 0 {
			t.Errorf("Redis has %q after refusals", keys)
		}
	})
}

func TestCurrentIsComparedAndSet(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		s.publish(t, bundle(t, 1, "v1"))
		wrong := "v0"
		err := p.Publish(t.Context(), bundle(t, 2, "v2"), PublishOptions{Expect: &wrong})
		var conflict *ConflictError
		if !errors.As(err, &conflict) || *conflict != (ConflictError{Version: "v2", Expected: "v0", Found: "v1"}) {
			t.Fatalf("error = %v, want a conflict that names v0 and v1", err)
		}
		if !strings.Contains(err.Error(), `CURRENT is "v1", expected "v0"`) {
			t.Errorf("error %q does not name both values", err)
		}

		none := ""
		if err := p.Publish(t.Context(), bundle(t, 2, "v2"), PublishOptions{Expect: &none}); !errors.As(err, &conflict) {
			t.Fatalf("error = %v, want a conflict", err)
		}

		// Somebody else moves CURRENT while rows are written.
		s.publish(t, bundle(t, 3, "v3"))
		expect.OK(t, p.SetCurrent(t.Context(), "v1", false))
		moved := false
		err = p.Publish(t.Context(), bundle(t, 2, "v2"), PublishOptions{Progress: func(int, int) {
			if !moved {
				moved = true
				if err := p.SetCurrent(t.Context(), "v3", false); err != nil {
					t.Error(err)
				}
			}
		}})
		if !errors.As(err, &conflict) || *conflict != (ConflictError{Version: "v2", Expected: "v1", Found: "v3"}) {
			t.Fatalf("error = %v, want a conflict that names v1 and v3", err)
		}
		s.mustCurrent(t, "v3")

		right := "v3" // v2 is complete by now
		expect.OK(t, p.Publish(t.Context(), bundle(t, 2, "v2"), PublishOptions{Expect: &right}))
		s.mustCurrent(t, "v2")
	})
}

func TestRollBack(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		first, second := bundle(t, 1, "v1"), bundle(t, 2, "v2")
		w, log := s.watcher(t, "consumer")
		s.publish(t, first)
		mustServe(t, w, "v1")
		s.publish(t, second)
		mustServe(t, w, "v2")
		expect.OK(t, s.publisher(t).SetCurrent(t.Context(), "v1", false))
		mustServe(t, w, "v1")
		mustAnswerLike(t, w.Current(), first)
		if got := log.take(); len(got) != 3 || !strings.Contains(got[2], "version=v1 previous=v2") {
			t.Errorf("logged %q, want three versions taken over", got)
		}

		for _, version := range []string{"v9", "v1/x", ""} {
			if err := s.publisher(t).SetCurrent(t.Context(), version, false); err == nil {
				t.Errorf("CURRENT was set to %q", version)
			}
		}
		if err := s.publisher(t).SetCurrent(t.Context(), "v9", false); !errors.Is(err, ErrIncomplete) {
			t.Errorf("error = %v, want that there is no marker", err)
		}
		s.mustCurrent(t, "v1")
	})
}

func TestVersionsLists(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		for i := range 3 {
			s.publish(t, bundle(t, uint64(i), "v"+strconv.Itoa(i)))
		}
		w, _ := s.watcher(t, "consumer-7")
		mustServe(t, w, "v2")
		infos, err := s.publisher(t).Versions(t.Context())
		if err != nil || len(infos) != 3 {
			t.Fatalf("versions are %+v (%v), want three", infos, err)
		}
		for i, v := range infos {
			if i > 0 && v.Serial <= infos[i-1].Serial {
				t.Errorf("serial %d comes after %d", v.Serial, infos[i-1].Serial)
			}
			if v.Version != "v"+strconv.Itoa(i) || v.State != Complete || v.Rows != 300 ||
				v.Synthetic != 12 || v.FileBytes == 0 || len(v.Content) != 64 || v.Current != (i == 2) {
				t.Errorf("version %d is %+v", i, v)
			}
			if v.Begun.IsZero() || v.Published.Before(v.Begun) || v.LastServed.Before(v.Published) {
				t.Errorf("version %d was begun %s, published %s, served %s", i, v.Begun, v.Published, v.LastServed)
			}
			if held := slices.Equal(v.Holders, []string{"consumer-7"}); held != (i == 2) {
				t.Errorf("version %d is held by %q", i, v.Holders)
			}
		}
	})
}

func TestPrefixIsChecked(t *testing.T) {
	for _, prefix := range []string{"", "a{b}", "a b", "ä"} {
		expect.Error(t, expect.ErrorOf(NewPublisher(nil, prefix)), "redis prefix", "prefix %q", prefix)
	}
}
