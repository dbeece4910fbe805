package kafka

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// hasty is a clock whose timers fire at once; it keeps how long they should have taken.
type hasty struct {
	SystemClock
	pauses []time.Duration
}

func (h *hasty) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	h.pauses = append(h.pauses, d)
	return h.SystemClock.NewTimer(0)
}

func TestPausesDoubleAndAreSpread(t *testing.T) {
	clock := &hasty{}
	a := Patience{Clock: clock}.Outage("it").Attempts()
	for range 10 {
		if err := a.Failed(t.Context(), io.EOF); err != nil {
			t.Fatal(err)
		}
	}
	a.Over()
	if err := a.Failed(t.Context(), io.EOF); err != nil {
		t.Fatal(err)
	}
	for i, ms := range []int{50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 50} {
		if most := time.Duration(ms) * time.Millisecond; clock.pauses[i] < most/2 || clock.pauses[i] > most {
			t.Errorf("pause %d is %v, want %v to %v", i, clock.pauses[i], most/2, most)
		}
	}
}

// An outage that several goroutines meet is said once when the first of them waits, and once when the last of them
// goes on.
func TestAnOutageIsSaidOnce(t *testing.T) {
	var log bytes.Buffer
	told := 0
	p := Patience{Clock: &hasty{}, Logger: slog.New(slog.NewTextHandler(&log, nil)), Observer: tellings{&told}}
	o := p.Outage("publish", "topic", "t")
	a, b := o.Attempts(), o.Attempts()
	for range 3 {
		for _, attempts := range []*Attempts{a, b} {
			if err := attempts.Failed(t.Context(), io.EOF); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.Over()
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `waiting for publish`) || !strings.Contains(got, "topic=t error=EOF") {
		t.Errorf("logged while one still waits:\n%s", got)
	}
	b.Over()
	b.Over()
	if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "publish is back") {
		t.Errorf("logged:\n%s", got)
	}
	if told != 6 {
		t.Errorf("the observer was told of %d attempts, want 6", told)
	}
}

type tellings struct{ n *int }

func (t tellings) Retry(string, error) { *t.n++ }
func (tellings) Lost(string, int64)    {}

func TestWhatIsNotTriedAgain(t *testing.T) {
	told := 0
	a := Patience{Clock: &hasty{}, Observer: tellings{&told}}.Outage("it").Attempts()
	if err := a.Failed(t.Context(), kafkago.GroupAuthorizationFailed); !errors.Is(err, kafkago.GroupAuthorizationFailed) {
		t.Errorf("missing rights: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the drain timed out")
	cancel(over)
	if err := a.Failed(ctx, io.EOF); !errors.Is(err, over) || !errors.Is(err, io.EOF) {
		t.Errorf("with an ended context: %v", err)
	}
	if told != 0 {
		t.Errorf("the observer was told of %d attempts", told)
	}
}
