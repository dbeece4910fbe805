package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/stream"
)

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
	for i := range stream.All {
		judged = append(judged, map[ledger.Window]ledger.Tally{
			1: {Arrivals: 10 + i, Stall: time.Duration(i) * time.Second},
			2: {Arrivals: 1, Duplicated: 2 * i},
			3: {Arrivals: 1, Lost: 1, OutOfOrder: i, Different: 3 * i, Stall: 1540 * time.Millisecond}})
	}
	var out strings.Builder
	ledger.Print(&out, tableRows(windows, stream.All, judged))
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

// A stream that waited for the registry may be some time behind the slowest of the others, and not longer.
func TestLate(t *testing.T) {
	waited := func(i int) bool { return i%2 == 0 }
	for name, c := range map[string]struct {
		took []time.Duration
		late bool
	}{
		"all at once":                    {[]time.Duration{1, 1, 1, 1}, false},
		"as late as may be":              {[]time.Duration{11, 1, 5, 1}, false},
		"a busy machine":                 {[]time.Duration{70, 60, 5, 1}, false},
		"a stream that goes on too late": {[]time.Duration{1, 1, 12, 1}, true},
		"others may take what they take": {[]time.Duration{1, 90, 1, 1}, false},
	} {
		if err := ledger.Late(c.took, waited, 10); (err != nil) != c.late {
			t.Errorf("%s: %v", name, err)
		}
	}
}
