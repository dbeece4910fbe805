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
	"rivulet/event/form"
	"rivulet/event/json"
	"rivulet/test/chaos/ledger"
)

// A poison is set aside for its reason whatever is drawn, by the checks of the consumer that need no model.
func TestPoisons(t *testing.T) {
	const features = 8
	rng := rand.New(rand.NewPCG(1, 0))
	for i, draw := range poisons {
		for range 50 {
			p := draw(rng, features)
			var a event.Arrival
			codec, known := event.Codec(json.Codec{}), true
			if p.contentType != "" {
				codec, known = form.ForContentType(p.contentType)
			}
			reason := ""
			var fault *event.FieldError
			switch {
			case p.value == nil:
				reason = ledger.PassedOver
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
		next := schedule(rand.New(rand.NewPCG(seed, 0)), append([]fault{several}, faults...))
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
	hung := faults[slices.IndexFunc(faults, func(f fault) bool { return strings.HasPrefix(f.name, "Redis hung") })]
	windows := []dealt{{fault: fault{name: "none"}}, {fault: hung}, {fault: faults[0]}, {fault: faults[0], lost: 4}}
	var judged []map[ledger.Window]ledger.Tally
	for i := range kinds {
		judged = append(judged, map[ledger.Window]ledger.Tally{
			1: {Arrivals: 10 + i, Stall: time.Duration(i) * time.Second},
			2: {Arrivals: 1, Duplicated: 2 * i},
			3: {Arrivals: 1, Lost: 1, OutOfOrder: i, Different: 3 * i, Stall: 1540 * time.Millisecond}})
	}
	var out strings.Builder
	ledger.Print(&out, rows(windows, kinds, judged))
	got := strings.Split(strings.TrimSpace(out.String()), "\n")[2:]
	want := []string{
		"| none | 1 | 0 | 0 | 0 | 0 | 0 | 0.0 s | 0 | 0 | 0 | 0 | 0 | 0.0 s | 0 |",
		"| " + faults[0].name + " | 2 | 4 | 2 | 2 | 1 | 3 | 1.5 s | 4 | 2 | 10 | 5 | 15 | 1.5 s | 4 |",
		"| " + hung.name + "; wait | 1 | 10 | 0 | 0 | 0 | 0 | 0.0 s | 12 | 0 | 0 | 0 | 0 | 2.0 s | 0 |",
		"| " + hung.name + "; degrade | 1 | 11 | 0 | 0 | 0 | 0 | 1.0 s | 13 | 0 | 0 | 0 | 0 | 3.0 s | 0 |",
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
	five := gauge{apart: 0.05}
	for _, c := range []struct {
		all   [3]third
		moved bool
	}{
		{steady, false}, {growing, true},
		{[3]third{{100, 0}, {100, 0}, {105.1, 0}}, true}, {[3]third{{100, 0}, {94.9, 0}, {100, 0}}, true},
		{[3]third{{100, 0}, {95.1, 0}, {104.9, 0}}, false},
	} {
		if got := five.moved(c.all) > five.apart; got != c.moved {
			t.Errorf("%v: moved by more than 5%%: %t, want %t", c.all, got, c.moved)
		}
	}
}

// The samples that are compared begin after the second refresh, and are three equal parts of whole pauses.
func TestCompared(t *testing.T) {
	begin := time.Now()
	minute := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Minute) }
	var samples []sample
	for n := range 31 {
		samples = append(samples, sample{minute(n), []float64{float64(n)}})
	}
	got, err := compared(samples, []time.Time{minute(5), minute(10), minute(15)}, 5*time.Minute)
	if err != nil || len(got) != 15 || got[0][0] != 16 {
		t.Errorf("%v, %v, want the samples after minute 15", got, err)
	}
	got, err = compared(samples[:20], []time.Time{minute(5), minute(10)}, 5*time.Minute)
	if err != nil || len(got) != 9 || got[0][0] != 11 {
		t.Errorf("%v, %v, want the samples after the second refresh where it was too late for three pauses", got, err)
	}
	if _, err := compared(samples, []time.Time{minute(5)}, 5*time.Minute); err == nil {
		t.Error("there was one refresh")
	}
}
