package logs

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"rivulet/consumer"
	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/schema"
)

// fakeClock moves only when the test moves it.
type fakeClock struct {
	consumer.SystemClock
	now time.Time
}

func (c *fakeClock) Now() time.Time { return c.now }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func journal(level slog.Level) (*Journal, *fakeClock, *bytes.Buffer) {
	var out bytes.Buffer
	clock := &fakeClock{now: noon}
	log := slog.New(slog.NewTextHandler(&out,
		&slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
	return NewJournal(log, clock), clock, &out
}

func letters(reason string, n int) consumer.BatchStats {
	b := &event.Batch{}
	for i := range n {
		b.DeadLetters = append(b.DeadLetters, event.DeadLetter{Key: fmt.Append(nil, "node-", i), Reason: reason,
			Detail: "why",
			Source: event.Source{Topic: "arrivals", Partition: 2, Offset: int64(i)}})
	}
	return consumer.BatchStats{Records: n, Delivered: b}
}

// Ten dead letters a minute have a line with id and reason; the others are counted, and said with the next minute or at
// the end.
func TestDeadLettersInTheLogAreLimited(t *testing.T) {
	j, clock, out := journal(slog.LevelInfo)
	j.Batch(letters(event.ReasonNotFinite, 8))
	j.Batch(letters(event.ReasonUnparsable, 5))
	j.Batch(letters(event.ReasonTooLarge, 1))
	if got := strings.Count(out.String(), `msg="dead letter"`); got != 10 || strings.Count(out.String(), "\n") != 10 {
		t.Errorf("%d lines of 14 dead letters, want 10:\n%s", got, out.String())
	}
	want := `level=WARN msg="dead letter" id=node-7 topic=arrivals partition=2 offset=7 reason=not_finite detail=why`
	if !strings.Contains(out.String(), want) {
		t.Errorf("%s\nis not in\n%s", want, out.String())
	}
	out.Reset()
	clock.now = noon.Add(time.Minute)
	j.Batch(letters(event.ReasonUnparsable, 1))
	want = `level=WARN msg="more dead letters, which have no line of their own" dead_letters=4 ` +
		`reasons="too_large 1, unparsable 3"` + "\n" +
		`level=WARN msg="dead letter" id=node-0 topic=arrivals partition=2 offset=0 reason=unparsable detail=why` + "\n"
	if out.String() != want {
		t.Errorf("a minute later:\n%s\nwant\n%s", out.String(), want)
	}
	j.Batch(letters(event.ReasonUnparsable, 11))
	out.Reset()
	j.Summary(nil)
	if !strings.HasPrefix(out.String(),
		`level=WARN msg="more dead letters, which have no line of their own" dead_letters=2 reasons="unparsable 2"`) {
		t.Errorf("at the end:\n%s", out.String())
	}
}

// The first edge between two nodes of the graph has a line, and no later one.
func TestTheFirstOldEdgeIsLogged(t *testing.T) {
	j, _, out := journal(slog.LevelInfo)
	for _, old := range []int{0, 3, 2} {
		s := letters(event.ReasonEdgeUnmatched, 0)
		s.OldEdges = old
		j.Batch(s)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "trainer refresh") ||
		!strings.Contains(got, "edges=3") {
		t.Errorf("logged:\n%s", got)
	}
}

// Another program's key cannot fill the log.
func TestLongIDsAreCut(t *testing.T) {
	j, _, out := journal(slog.LevelInfo)
	s := letters(event.ReasonTooLarge, 1)
	s.Delivered.DeadLetters[0].Key = bytes.Repeat([]byte("k"), 100_000)
	j.Batch(s)
	if out.Len() > 500 || !strings.Contains(out.String(), "id="+strings.Repeat("k", 80)+" ") {
		t.Errorf("%d bytes: %.300s", out.Len(), out.String())
	}
}

func TestABatchHasALineAtLevelDebug(t *testing.T) {
	j, clock, out := journal(slog.LevelDebug)
	j.Batch(consumer.BatchStats{Name: "b", Version: "v1", Records: 4, Known: 7, Unknown: 2, Started: noon,
		Published: noon.Add(21 * time.Millisecond), Delivered: &event.Batch{
			Predictions: []event.Prediction{{ClassName: "lens"}, {ClassName: "lens"}, {ClassName: "tripod", Degraded: true}},
			DeadLetters: []event.DeadLetter{{Reason: event.ReasonNotFinite}},
		}})
	want := `level=DEBUG msg="batch delivered" batch=b version=v1 records=4 predictions=3 dead_letters=1 degraded=1 ` +
		`known_neighbours=7 ` +
		"unknown_neighbours=2 took=21ms\n"
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	j.Rebalance(nil)
	j.Retry(consumer.StageFetch, nil)
	j.Retry(consumer.StageFetch, nil)
	clock.now = noon.Add(90 * time.Second)
	out.Reset()
	j.Summary(errors.New("broken"))
	want = `level=ERROR msg="the consumer has ended with an error" error=broken ran=1m30s records=4 predictions=3 ` +
		`dead_letters=1 degraded=1 ` +
		"batches=1 generations=1 retries=2\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// Edges of their own that are passed over, as no arrival waits for any, have one warning.
func TestTheFirstEdgePassedOverIsSaid(t *testing.T) {
	j, clock, out := journal(slog.LevelInfo)
	b := consumer.BatchStats{Name: "arrivals-0-7-g1-x", Delivered: &event.Batch{}, Skipped: []read.Skip{read.SkipTombstone}}
	j.Batch(b)
	if out.Len() > 0 {
		t.Errorf("without an edge: %s", out)
	}
	b.Skipped = append(b.Skipped, read.SkipEdge, read.SkipEdge)
	j.Batch(b)
	clock.now = noon.Add(time.Hour)
	j.Batch(b)
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") ||
		!strings.Contains(got, "set attach.wait.") || !strings.Contains(got, "edges=2") {
		t.Errorf("%s", got)
	}
}

// Timestamps far ahead, and an arrival that holds its partition, have a line a minute.
func TestTroubleOfWaitingIsSaid(t *testing.T) {
	j, clock, out := journal(slog.LevelInfo)
	at := kafka.TopicPartition{Topic: "arrivals", Partition: 1}
	first := kafka.Position{Topic: "arrivals", Partition: 1, Offset: 41}
	for range 3 {
		j.Window(at, window.Stats{Ahead: 2, First: first, Held: 40 * time.Second, Overdue: 29 * time.Second})
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "far ahead") ||
		!strings.Contains(got, "records=2") {
		t.Errorf("%s", got)
	}
	clock.now = noon.Add(time.Minute)
	out.Reset()
	j.Window(at, window.Stats{First: first, Held: time.Minute, Overdue: 30 * time.Second, Arrivals: 7})
	j.Window(at, window.Stats{First: first, Held: time.Minute, Overdue: 30 * time.Second, Arrivals: 7})
	got := out.String()
	for _, want := range []string{"records=4", "holds its partition", "offset=41", "held=1m0s", "arrivals_behind=7"} {
		if !strings.Contains(got, want) || strings.Count(got, "\n") != 2 {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// The first unknown category of each feature is said, with its value; further ones and missing values are counted only.
func TestTheFirstUnknownCategoryIsSaid(t *testing.T) {
	j, _, out := journal(slog.LevelInfo)
	batch := func(values ...schema.Count) {
		j.Batch(consumer.BatchStats{Name: "b", Delivered: &event.Batch{}, Values: values})
	}
	batch(schema.Count{Feature: "age", Missing: 3})
	if out.Len() > 0 {
		t.Errorf("missing values have a line:\n%s", out)
	}
	batch(schema.Count{Feature: "country", Unseen: 2, Example: "ES"})
	batch(schema.Count{Feature: "country", Unseen: 1, Example: "PT"}, schema.Count{Feature: "plan", Unseen: 1, Example: "gold"})
	if got := out.String(); strings.Count(got, "level=WARN") != 2 || !strings.Contains(got, "feature=country value=ES") ||
		!strings.Contains(got, "feature=plan value=gold") || !strings.Contains(got, "rivulet_feature_values_total") {
		t.Errorf("want a warning of country and one of plan:\n%s", got)
	}
}
