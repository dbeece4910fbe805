package candidate

import (
	"math"
	"strings"

	"rivulet/internal/stats"
)

// Comparison counts what CURRENT and CANDIDATE answered to the same arrivals. Each consumer keeps its own and writes it
// to Redis; [Comparison.Add] makes the sum.
type Comparison struct {
	Current   string `json:"current"`   // the version that served
	Candidate string `json:"candidate"` // line of the key CANDIDATE: the version, and since when
	Consumers int    `json:"consumers"` // 1, and in a sum how many

	Arrivals   int        `json:"arrivals"`     // predicted by CURRENT and given to CANDIDATE
	Agreed     int        `json:"agreed"`       // both have one class
	Dead       int        `json:"dead_letters"` // CANDIDATE makes a dead letter of it
	Dropped    int        `json:"dropped"`      // not given to CANDIDATE, because the consumer had too much to do
	Failed     int        `json:"failed"`       // CANDIDATE could not be asked: Redis did not answer
	Canary     int        `json:"canary"`       // predictions that CANDIDATE published
	Confidence [2]float64 `json:"confidence"`   // sums of the probabilities, of CURRENT and CANDIDATE
	P99        [2]float64 `json:"p99_ms"`       // of a batch, from its records to its predictions; in a sum the largest

	Classes map[string][2]int `json:"classes"` // predictions of each class, by CURRENT and by CANDIDATE

	Labels int `json:"labels"` // arrivals whose label came
	Right  int `json:"right"`  // CURRENT is right
	Gain   int `json:"gain"`   // CANDIDATE alone is right
	Loss   int `json:"loss"`   // CURRENT alone is right
}

// Version is the name of the candidate.
func (c *Comparison) Version() string {
	version, _, _ := strings.Cut(c.Candidate, " ")
	return version
}

// Add adds another consumer's counts.
func (c *Comparison) Add(o Comparison) {
	c.Current, c.Candidate, c.Consumers = o.Current, o.Candidate, c.Consumers+o.Consumers
	c.Arrivals, c.Agreed, c.Dead = c.Arrivals+o.Arrivals, c.Agreed+o.Agreed, c.Dead+o.Dead
	c.Dropped, c.Failed, c.Canary = c.Dropped+o.Dropped, c.Failed+o.Failed, c.Canary+o.Canary
	c.Labels, c.Right, c.Gain, c.Loss = c.Labels+o.Labels, c.Right+o.Right, c.Gain+o.Gain, c.Loss+o.Loss
	if c.Classes == nil {
		c.Classes = map[string][2]int{}
	}
	for name, n := range o.Classes {
		c.Classes[name] = [2]int{c.Classes[name][0] + n[0], c.Classes[name][1] + n[1]}
	}
	for k := range 2 {
		c.Confidence[k] += o.Confidence[k]
		c.P99[k] = max(c.P99[k], o.P99[k])
	}
}

// Both is the number of arrivals that both versions predicted.
func (c *Comparison) Both() int { return c.Arrivals - c.Dead }

// Agreement is the share of the arrivals that both predicted to which both gave one class; 1 before there are any.
func (c *Comparison) Agreement() float64 {
	if c.Both() == 0 {
		return 1
	}
	return float64(c.Agreed) / float64(c.Both())
}

// Shift is the total variation between the classes of both, ½ Σ|p−q|: 0 for the same shares, 1 for no class in common.
func (c *Comparison) Shift() float64 {
	sum, n := 0.0, float64(max(1, c.Both()))
	for _, k := range c.Classes {
		sum += math.Abs(float64(k[0] - k[1]))
	}
	return sum / n / 2
}

// P is the p value of McNemar's test of Gain against Loss.
func (c *Comparison) P() float64 { return stats.McNemar(c.Gain, c.Loss) }
