package main

import (
	"testing"
	"time"
)

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
