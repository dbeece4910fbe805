package graph

import (
	"errors"
	"runtime"
	"testing"
)

// Each goroutine that keeps a processor busy takes one from the others' jobs, but not from its own, nor while it waits.
func TestBusy(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	want := func(when string, want int) {
		t.Helper()
		if got := processors(); got != want {
			t.Errorf("%s: %d processors, want %d", when, got, want)
		}
	}
	want("nobody is busy", 4)
	first := Busy()
	want("the caller is", 4)
	second := Busy()
	want("another one is, too", 3)
	failed := errors.New("failed")
	if err := Idle(func() error { want("one waits", 4); return failed }); !errors.Is(err, failed) {
		t.Errorf("Idle returns %v", err)
	}
	want("it has waited", 3)
	second()
	second()
	want("it is done, and says so twice", 4)
	first()
	want("both are done", 4)
	var all []func()
	for range 9 {
		all = append(all, Busy())
	}
	rows := 0
	ParallelRows(100, 1<<30, func(lo, hi int) { rows += hi - lo }) // a race if there were helpers
	if rows != 100 {
		t.Errorf("%d rows where all processors are busy, want 100", rows)
	}
	for _, release := range all {
		release()
	}
	want("nobody is busy any more", 4)
}
