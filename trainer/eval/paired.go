package eval

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rivulet/internal/stats"
)

// Pairing compares a row's predictions with Whole's, node by node. Better counts the nodes that the row has right and
// Whole has wrong, Worse the opposite, a number for each seed. P is the probability of a difference at least as large
// by chance alone: [stats.McNemar] for one seed, [Combined] for several.
type Pairing struct {
	Better []int   `json:"better"`
	Worse  []int   `json:"worse"`
	P      float64 `json:"p"`
}

// Pair compares the predicted classes of the nodes of a set with Whole's. All three are in the same order.
func Pair(classes, whole []int32, s *Set) *Pairing {
	better, worse, at := 0, 0, 0
	for _, labels := range s.Labels {
		for _, y := range labels {
			switch right, wholeRight := classes[at] == y, whole[at] == y; {
			case right && !wholeRight:
				better++
			case !right && wholeRight:
				worse++
			}
			at++
		}
	}
	return &Pairing{Better: []int{better}, Worse: []int{worse}, P: stats.McNemar(better, worse)}
}

// Combined returns the p value of tests of one hypothesis with several seeds, which see the same nodes and so
// are not independent: twice their median, at most 1, which is valid for any dependence (Rüger, 1978). A single
// one is returned as it is; it is 1 for none.
func Combined(values []float64) float64 {
	if len(values) == 0 {
		return 1
	}
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 1 {
		return sorted[0]
	}
	return math.Min(1, 2*sorted[len(sorted)/2])
}

// joinedPairs returns the comparisons of all seeds as one; nil if a row has none.
func joinedPairs(rows []Result) *Pairing {
	out := &Pairing{}
	var values []float64
	for _, r := range rows {
		if r.VersusWhole == nil {
			return nil
		}
		out.Better = append(out.Better, r.VersusWhole.Better...)
		out.Worse = append(out.Worse, r.VersusWhole.Worse...)
		values = append(values, r.VersusWhole.P)
	}
	out.P = Combined(values)
	if len(slices.Compact(slices.Clone(out.Better))) == 1 && len(slices.Compact(slices.Clone(out.Worse))) == 1 {
		out.P = values[0] // no seed changes anything: it is one test
	}
	return out
}

// Counts returns the means over seeds of Better and Worse; "-" if there is no comparison.
func (p *Pairing) Counts() string {
	if p == nil {
		return "-"
	}
	of := func(counts []int) float64 {
		sum := 0
		for _, n := range counts {
			sum += n
		}
		return float64(sum) / float64(max(1, len(counts)))
	}
	return fmt.Sprintf("%.0f:%.0f", of(p.Better), of(p.Worse))
}

// Value returns p; "-" if there is no comparison.
func (p *Pairing) Value() string {
	switch {
	case p == nil:
		return "-"
	case p.P < 0.001:
		return "<.001"
	case p.P < 0.1:
		return fmt.Sprintf("%.3f", p.P)
	}
	return fmt.Sprintf("%.2f", p.P)
}

// record returns the counts of each seed, with blanks between them, and p; blanks if there is no comparison.
func (p *Pairing) record() []string {
	if p == nil {
		return []string{"", "", ""}
	}
	return []string{strings.Trim(fmt.Sprint(p.Better), "[]"), strings.Trim(fmt.Sprint(p.Worse), "[]"),
		strconv.FormatFloat(p.P, 'g', -1, 64)}
}
