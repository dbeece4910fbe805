package retry

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

	"rivulet/test/expect"
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
		expect.OK(t, a.Failed(t.Context(), io.EOF))
	}
	a.Over()
	expect.OK(t, a.Failed(t.Context(), io.EOF))
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
			expect.OK(t, attempts.Failed(t.Context(), io.EOF))
		}
	}
	a.Over()
	if got := log.String(); strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, `waiting for the brokers to take records`) || !strings.Contains(got, "topic=t error=EOF") {
		t.Errorf("logged while one still waits:\n%s", got)
	}
	b.Over()
	b.Over()
	if got := log.String(); strings.Count(got, "\n") != 2 ||
		!strings.Contains(got, "no longer waiting for the brokers to take records") {
		t.Errorf("logged:\n%s", got)
	}
	if told != 6 {
		t.Errorf("the observer was told of %d attempts, want 6", told)
	}
}

// An outage that goes on is said again every 30 seconds, with how long it has lasted, however often it is tried.
func TestALongOutageIsSaidAgain(t *testing.T) {
	var log bytes.Buffer
	clock := &passing{now: time.Unix(0, 0), step: 11 * time.Second}
	p := Patience{Clock: clock, Logger: slog.New(slog.NewTextHandler(&log,
		&slog.HandlerOptions{ReplaceAttr: withoutTime}))}
	o := p.Outage("it").Named("the tide", "see the table of tides")
	a, b := o.Attempts(), o.Attempts()
	for range 4 { // each moves the clock by 22 s
		for _, attempts := range []*Attempts{a, b} {
			expect.OK(t, attempts.Failed(t.Context(), io.EOF))
		}
	}
	a.Over()
	b.Over()
	const want = `level=WARN msg="waiting for the tide" error=EOF advice="see the table of tides"
level=WARN msg="still waiting for the tide" for=33s error=EOF advice="see the table of tides"
level=WARN msg="still waiting for the tide" for=1m6s error=EOF advice="see the table of tides"
level=INFO msg="no longer waiting for the tide" after=1m28s
`
	if log.String() != want {
		t.Errorf("logged:\n%swant:\n%s", log.String(), want)
	}
}

// Each line about a stage of Kafka says what to do, those that repeat and the one about a new beginning, too.
func TestEachLineOfAStageHasAdvice(t *testing.T) {
	for stage, advice := range map[string]string{StageTopics: "create a topic", StageGroup: "see that the brokers run",
		StageOffsets: "see that the brokers run", StageFetch: "see that the brokers run",
		StagePublish: "see that the brokers run", "topic labels": "see that the brokers run"} {
		var log bytes.Buffer
		p := Patience{Clock: &passing{now: time.Unix(0, 0), step: time.Minute}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		attempts := p.Outage(stage).StartsOver(Anew{Forget: func(error) error { return nil }}).Attempts()
		for range 5 {
			expect.OK(t, attempts.Failed(t.Context(), io.EOF))
		}
		expect.Same(t, 1, strings.Count(log.String(), "starting over"), "new beginnings in\n%s", log.String())
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, "error=EOF") || !strings.Contains(line, advice) {
				t.Errorf("%s: a line without cause or advice: %s", stage, line)
			}
		}
	}
}

// passing is a clock that each timer moves on by the same time.
type passing struct {
	now  time.Time
	step time.Duration
}

func (s *passing) Now() time.Time { return s.now }

func (s *passing) NewTimer(time.Duration) (<-chan time.Time, func()) {
	s.now = s.now.Add(s.step)
	return SystemClock{}.NewTimer(0)
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

type tellings struct{ n *int }

func (t tellings) Retry(string, error)           { *t.n++ }
func (tellings) Lost(string, int64)              {}
func (tellings) Throttled(string, time.Duration) {}

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

// Work is repeated until it succeeds, or fails in a way that is not waited for; one outage in another waits for its own
// failures only.
func TestRepeat(t *testing.T) {
	down, away := errors.New("down"), errors.New("away")
	for name, c := range map[string]struct {
		outcomes []error
		err      error
		told     int
	}{
		"it succeeds":                 {[]error{nil}, nil, 0},
		"it succeeds at last":         {[]error{down, away, down, nil}, nil, 3},
		"something else fails":        {[]error{down, io.EOF}, io.EOF, 1},
		"no further attempt helps":    {[]error{away, kafkago.GroupAuthorizationFailed}, kafkago.GroupAuthorizationFailed, 1},
		"the wait itself has its end": {[]error{away, errors.Join(away, ErrGeneration)}, ErrGeneration, 1},
	} {
		t.Run(name, func(t *testing.T) {
			told, done := 0, 0
			p := Patience{Clock: &hasty{}, Observer: tellings{&told}}
			outer, inner := p.Outage("outer").GiveUpAt(GenerationOver).Attempts(), p.Outage("inner").Attempts()
			is := func(of error) func(error) bool { return func(err error) bool { return errors.Is(err, of) } }
			err := outer.RepeatIf(t.Context(), is(away), func() error {
				return inner.RepeatIf(t.Context(), is(down), func() error {
					done++
					return c.outcomes[done-1]
				})
			})
			if !errors.Is(err, c.err) || told != c.told || done != len(c.outcomes) {
				t.Errorf("%v after %d attempts, %d of them told, want %v", err, done, told, c.err)
			}
		})
	}
}
