package candidate

import (
	"fmt"
	"math/bits"
)

// Rule says when a candidate is promoted or given up.
type Rule struct {
	// Arrivals and Labels are how many must have been compared before something is decided by them.
	Arrivals, Labels int
	// Agreement is the share of arrivals with the same class below which a candidate is given up; 0: any will do.
	Agreement float64
	// DeadLetters is the share of arrivals that only the candidate makes dead letters of, above which it is given up.
	DeadLetters float64
	// Slowdown is how many times as long the candidate's slowest batches (99%) may take; 0: any time will do.
	Slowdown float64
	// P is the probability by which labels may decide wrongly between two versions that are equally good, all looks at
	// them together.
	P float64
}

// Judge returns [ActionAbort] with the reason if what needs no labels speaks against the candidate, "" otherwise.
func (r Rule) Judge(c Comparison) (action, reason string) {
	if c.Arrivals < max(1, r.Arrivals) {
		return "", fmt.Sprintf("%d of at least %d arrivals are compared", c.Arrivals, max(1, r.Arrivals))
	}
	dead := float64(c.Dead) / float64(c.Arrivals)
	switch {
	case dead > r.DeadLetters:
		return ActionAbort, fmt.Sprintf("%.2f%% of %d arrivals are dead letters by the candidate alone, at most "+
			"%.2f%% may be",
			100*dead, c.Arrivals, 100*r.DeadLetters)
	case c.Agreement() < r.Agreement:
		return ActionAbort, fmt.Sprintf("%.1f%% of %d arrivals have the same class, at least %.1f%% should",
			100*c.Agreement(), c.Both(), 100*r.Agreement)
	case r.Slowdown > 0 && c.P99[1] > r.Slowdown*c.P99[0]:
		return ActionAbort, fmt.Sprintf("99%% of batches take up to %.1f ms, with the version that serves "+
			"%.1f ms: more than %g times",
			c.P99[1], c.P99[0], r.Slowdown)
	}
	return "", fmt.Sprintf("gain:loss %d:%d of %d labels", c.Gain, c.Loss, c.Labels)
}

// Look returns which look at the labels is due: look 0 at [Rule.Labels] of them, 1 at twice as many, 2 at four times,
// and so on; -1 before the first.
func (r Rule) Look(labels int) int { return bits.Len(uint(labels/max(1, r.Labels))) - 1 }

// Test compares gain with loss at a look. Who looks often finds a small p by chance at last: so look k decides below
// P/2^(k+1), and all looks together err with probability P at most (½ + ¼ + … = 1).
func (r Rule) Test(c Comparison, look int) (action, reason string) {
	p, bound := c.P(), r.P/float64(uint64(2)<<min(look, 60))
	reason = fmt.Sprintf("gain:loss %d:%d of %d labels, p = %.2g at look %d, decided below %.2g", c.Gain, c.Loss, c.Labels,
		p,
		look+1, bound)
	switch {
	case p >= bound:
		return "", reason
	case c.Gain > c.Loss:
		return ActionPromote, reason
	}
	return ActionAbort, reason
}
