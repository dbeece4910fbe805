package study

import (
	"slices"
	"testing"
	"time"

	"rivulet/trainer"
)

// notes keeps lines.
type notes []string

func (n *notes) Note(line string) { *n = append(*n, line) }

func (*notes) Step(string, int, int) {}

// A slow method does not make the estimate of a quick one: what is left is estimated method by method.
func TestStudiesSayHowLongTheyTake(t *testing.T) {
	var said notes
	now := time.Unix(0, 0)
	s := schedule{progress: &said, runs: []string{"slow", "slow", "quick", "quick", "slow"},
		now: func() time.Time { return now }}
	for _, seconds := range []int{20, 10, 1, 3, 15} {
		s.next(trainer.Options{Method: "random", Nodes: 40}, 3)
		now = now.Add(time.Duration(seconds) * time.Second)
	}
	want := []string{
		"run 1 of 5: random, N' = 40, seed 3",
		"run 2 of 5: random, N' = 40, seed 3, about 80 s left in all", // 4 runs, 20 s each
		"run 3 of 5: random, N' = 40, seed 3, about 45 s left in all", // 3 runs, 15 s each
		"run 4 of 5: random, N' = 40, seed 3, about 16 s left in all", // 1 s and 15 s
		"run 5 of 5: random, N' = 40, seed 3, about 15 s left in all",
	}
	if !slices.Equal(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}
}
