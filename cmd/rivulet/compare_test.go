package main

import (
	"io"
	"testing"
	"time"

	"rivulet/internal/compare"
	"rivulet/run"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// What cannot be compared is said for the reason that it has: a topic without predictions, or two topics that answer
// other records.
func TestCompareSaysWhyItCannot(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, c := range map[string]struct {
		from time.Time
		r    compare.Result
	}{
		`there is no prediction on "a": nothing`:                                  {r: compare.Result{Predictions: [2]int{0, 7}}},
		`there is no prediction on "b" since 2026-03-01T12:00:00Z: nothing`:       {at, compare.Result{Predictions: [2]int{7, 0}}},
		`there is no prediction on "a" and on "b": nothing`:                       {},
		"no record has a prediction on both topics: do both groups read the same": {r: compare.Result{Predictions: [2]int{7, 7}}},
	} {
		o := run.CompareOptions{Topics: [2]string{"a", "b"}, From: c.from}
		expect.Error(t, printComparison(io.Discard, o, &c.r), want)
	}
	for _, topic := range []string{"", "predictions", "a b"} {
		_, err := harness.Execute(root(), "compare", topic, topic)
		expect.Error(t, err, `both topics are "`+topic+`", want two topics`)
	}
}
