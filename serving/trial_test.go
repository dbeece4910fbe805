package serving

import (
	"errors"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// A new version of whose first arrivals too many become dead letters gives way to the one before, once; not if that one
// made nearly as many, and not before there is enough to judge by.
func TestBackFromAVersionThatMakesDeadLetters(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		s.publish(t, bundle(t, 1, "v1"))
		w, log := s.watcher(t, "c1")
		w.o.Rollback = 0.2
		mustServe(t, w, "v1")
		for range 5 {
			w.Delivered("v1", 1000, 10)
		}
		next := bundle(t, 2, "v2")
		expect.OK(t, p.Publish(t.Context(), next, PublishOptions{Keep: -1}))
		mustServe(t, w, "v2")
		log.take()
		w.Delivered("v1", 1000, 1000) // the last batch of the version before
		w.Delivered("v2", 99, 99)
		serves := func(want string) {
			t.Helper()
			if got := w.Current().ID(); got != want {
				t.Fatalf("%s serves, want %s", got, want)
			}
		}
		serves("v2")
		w.Delivered("v2", 401, 1)
		serves("v1")
		if text := strings.Join(log.take(), "\n"); !strings.Contains(text,
			"version=v2 serving=v1 arrivals=500 dead_letters=100") ||
			w.Rollbacks() != 1 {
			t.Errorf("logged %s; %d rollbacks", text, w.Rollbacks())
		}
		for range 3 {
			if err := tick(t, w); !errors.As(err, new(refusal)) ||
				!strings.Contains(err.Error(), "20% of its first 500 arrivals") {
				t.Fatalf("following CURRENT: %v", err)
			}
			serves("v1")
			w.Delivered("v1", 1000, 10)
		}
		s.mustCurrent(t, "v2")

		if err := p.SetCurrent(t.Context(), "v2", true); err != nil { // the operator means it
			t.Fatal(err)
		}
		mustServe(t, w, "v2")
		w.Delivered("v2", 1000, 900)
		serves("v2")
		expect.OK(t, p.Publish(t.Context(), bundle(t, 3, "v3"), PublishOptions{Keep: -1}))
		mustServe(t, w, "v3")
		w.Delivered("v3", 1000, 900) // the stream was as bad before
		serves("v3")
		w.o.Rollback = 0
		expect.OK(t, p.Publish(t.Context(), bundle(t, 4, "v4"), PublishOptions{Keep: -1}))
		mustServe(t, w, "v4")
		w.Delivered("v4", 1000, 1000)
		serves("v4")
	})
}
