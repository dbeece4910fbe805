package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/event"
)

// A poison is set aside for its reason whatever is drawn, by the checks of the consumer that need no model.
func TestPoisons(t *testing.T) {
	const features = 8
	rng := rand.New(rand.NewPCG(1, 0))
	for i, draw := range poisons {
		for range 50 {
			p := draw(rng, features)
			var a event.Arrival
			codec, known := event.Codec(event.JSON{}), true
			if p.contentType != "" {
				codec, known = event.ForContentType(p.contentType)
			}
			reason := ""
			var fault *event.FieldError
			switch {
			case len(p.value) > recordBytes-100: // with a key, as much as may be
				reason = event.ReasonTooLarge
			case !known:
				reason = event.ReasonContentType
			case errors.As(codec.DecodeArrival(p.value, &a), &fault), errors.As(a.Check(features, maxEdges), &fault):
				reason = fault.Reason
			case slices.ContainsFunc(a.Features.Values, func(v float32) bool { return math.Abs(float64(v)) > 1e30 }):
				reason = event.ReasonNotFinite // the consumer refuses what would overflow
			}
			if reason != p.reason {
				t.Fatalf("poison %d, %.80q: %q, want %q", i, p.value, reason, p.reason)
			}
		}
	}
}

func TestScheduleIsThatOfItsSeed(t *testing.T) {
	draw := func(seed uint64) (names []string) {
		next := schedule(rand.New(rand.NewPCG(seed, 0)), func(string) bool { return true })
		for range 2 * (len(faults) + 1) {
			names = append(names, next().name)
		}
		return names
	}
	first := draw(1)
	if !slices.Equal(first, draw(1)) || slices.Equal(first, draw(2)) {
		t.Error("the order is not the seed's")
	}
	for _, round := range [][]string{first[:len(faults)+1], first[len(faults)+1:]} {
		sorted := slices.Sorted(slices.Values(round))
		if n := len(slices.Compact(sorted)); n != len(faults)+1 {
			t.Errorf("a round has %d of %d faults: %v", n, len(faults)+1, round)
		}
	}
}

func TestTable(t *testing.T) {
	kinds := []kind{{"at_least_once", "wait"}, {"at_least_once", "degrade"}, {"exactly_once", "wait"}, {"exactly_once", "degrade"}}
	hung := faults[slices.IndexFunc(faults, func(f fault) bool { return strings.HasPrefix(f.name, "Redis hung") })]
	windows := []dealt{{fault: fault{name: "none"}}, {fault: hung}, {fault: faults[0]}, {fault: faults[0]}}
	var judged []map[window]tally
	for i := range kinds {
		judged = append(judged, map[window]tally{
			1: {arrivals: 10 + i, stall: time.Duration(i) * time.Second},
			2: {arrivals: 1, duplicated: 2 * i},
			3: {arrivals: 1, lost: 1, outOfOrder: i, stall: 1540 * time.Millisecond}})
	}
	var out strings.Builder
	printTable(&out, rows(windows, kinds, judged))
	got := strings.Split(strings.TrimSpace(out.String()), "\n")[2:]
	want := []string{
		"| none | 1 | 0 | 0 | 0 | 0 | 0.0 s | 0 | 0 | 0 | 0 | 0.0 s |",
		"| " + faults[0].name + " | 2 | 4 | 2 | 2 | 1 | 1.5 s | 4 | 2 | 10 | 5 | 1.5 s |",
		"| " + hung.name + "; wait | 1 | 10 | 0 | 0 | 0 | 0.0 s | 12 | 0 | 0 | 0 | 2.0 s |",
		"| " + hung.name + "; degrade | 1 | 11 | 0 | 0 | 0 | 1.0 s | 13 | 0 | 0 | 0 | 3.0 s |",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestThirds(t *testing.T) {
	var samples [][]float64
	for i := range 9 {
		samples = append(samples, []float64{100 + float64(i/3), float64(i)})
	}
	steady, growing := thirds(samples, 0), thirds(samples, 1)
	if want := [3]third{{100, 100}, {101, 101}, {102, 102}}; steady != want {
		t.Errorf("%v, want %v", steady, want)
	}
	five, none := gauge{growth: 0.05}, gauge{}
	if five.grown(steady) || !five.grown(growing) || none.grown(steady) || none.grown([3]third{{1, 9}, {2, 9}, {3, 3}}) || !none.grown([3]third{{1, 9}, {2, 3}, {3.1, 3}}) {
		t.Error("5% of the mean may be added, and 1 to what must not grow")
	}
}
