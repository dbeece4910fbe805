package study

import (
	"fmt"
	"time"

	"rivulet/trainer"
)

// schedule estimates how long the runs of a study that are left will take. A run counts as the mean of the finished
// runs of its method, or of all finished runs where its method has none.
type schedule struct {
	progress trainer.Progress
	runs     []string // method of each run
	took     []time.Duration
	now      func() time.Time
	began    time.Time // of the run under way
}

// next is called before each run.
func (s *schedule) next(run trainer.Options, seed uint64) {
	now := s.now()
	if !s.began.IsZero() {
		s.took = append(s.took, now.Sub(s.began))
	}
	s.began = now
	to, ok := s.progress.(interface{ Note(line string) })
	if !ok || len(s.runs) == 1 {
		return
	}
	size := ""
	switch {
	case run.Nodes > 0:
		size = fmt.Sprintf(", N' = %d", run.Nodes)
	case run.Ratio > 0:
		size = fmt.Sprintf(", ratio %g", run.Ratio)
	}
	line := fmt.Sprintf("run %d of %d: %s%s, seed %d", len(s.took)+1, len(s.runs), run.Label(), size, seed)
	if len(s.took) > 0 {
		line += fmt.Sprintf(", about %.0f s left in all", s.left().Seconds())
	}
	to.Note(line)
}

// left adds up the runs that are left, each as long as the mean of the runs of its method.
func (s *schedule) left() (total time.Duration) {
	sums, counts := map[string]time.Duration{}, map[string]int{}
	for k, took := range s.took {
		for _, of := range []string{s.runs[k], ""} { // "": of all methods
			sums[of] += took
			counts[of]++
		}
	}
	for _, method := range s.runs[len(s.took):] {
		if counts[method] == 0 {
			method = ""
		}
		total += sums[method] / time.Duration(counts[method])
	}
	return total
}
