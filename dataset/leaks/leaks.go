// Package leaks measures the parts of a data set that give its labels away: a column that was filled in when the class
// became known, ids or rows in the order of the classes, edges.
package leaks

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"

	"rivulet/dataset"
	"rivulet/schema"
)

// Predictor is a rule that tells a node's class from one column or from the edges alone, and how well it does.
type Predictor struct {
	Name string // of the column, or of another source
	Rule string
	// Accuracy is the share of the held-out nodes whose class the rule tells, and Majority the share that the
	// most frequent class of the other nodes has among them; percent.
	Accuracy, Majority float64
}

// Gain returns the share of the majority's errors that the rule does not make; below 0 if it makes more.
func (p Predictor) Gain() float64 {
	if p.Majority >= 100 {
		return 0
	}
	return (p.Accuracy - p.Majority) / (100 - p.Majority)
}

// SuspectGain is the gain from which a rule is suspected to read the label itself, or a consequence of it.
const SuspectGain = 0.95

// Suspect reports whether the rule is suspected so.
func (p Predictor) Suspect() bool { return p.Gain() >= SuspectGain }

// String is a line about the rule.
func (p Predictor) String() string {
	mark := ""
	if p.Suspect() {
		mark = "   SUSPECT: it all but tells the label"
	}
	return fmt.Sprintf("%5.1f%%, where the most frequent class has %.1f%%: %s, %s%s", p.Accuracy, p.Majority, p.Name,
		p.Rule,
		mark)
}

// mostNodes bounds the labelled nodes that teach and measure rules.
const mostNodes = 20_000

// bins is the number of intervals into which numbers and times are cut, with as many of the nodes in each.
const bins = 32

// Measure finds how well one column, the ids, the order of the rows or the edges alone tell the classes, best
// first. Half of the labelled nodes, at random by seed, teach each rule, and the other half measure it: in each
// interval of a number or a time, for each category or text, and for missing values, the most frequent class
// among the first half; along the edges, the most frequent class among the neighbours in the first half. Where a
// rule has seen nothing, it says the most frequent class of all. Vectors are not measured, as no simple rule
// reads them.
func Measure(d *dataset.Dataset, seed uint64) []Predictor {
	var labelled []int32
	for i, c := range d.Labels {
		if c >= 0 {
			labelled = append(labelled, int32(i))
		}
	}
	r := rand.New(rand.NewPCG(seed, 2))
	r.Shuffle(len(labelled), func(i, j int) { labelled[i], labelled[j] = labelled[j], labelled[i] })
	labelled = labelled[:min(len(labelled), mostNodes)]
	half := len(labelled) / 2
	if half == 0 {
		return nil
	}
	l := leaks{d, labelled[:half], labelled[half:], 0}
	l.majority = l.most(l.learn)
	var found []Predictor
	for i := range d.Columns {
		if c := &d.Columns[i]; c.Type == schema.Text || c.Type == schema.Bool {
			found = append(found,
				l.byValue(c.Name, "most frequent class of each value", func(i int32) string { return valueText(c.At(int(i))) }))
		} else if c.Type != schema.Vector {
			found = append(found, l.byInterval(c.Name, func(i int32) (float64, bool) { return valueNumber(c.At(int(i))) }))
		}
	}
	if x := d.X.Dense; x != nil {
		for c := range x.Cols {
			found = append(found, l.byInterval("feature "+strconv.Itoa(c),
				func(i int32) (float64, bool) { return float64(x.Row(int(i))[c]), true }))
		}
	}
	found = append(found, l.byInterval("(order of the rows)", func(i int32) (float64, bool) { return float64(i), true }),
		l.ids(), l.edges())
	slices.SortStableFunc(found, func(a, b Predictor) int { return cmp.Compare(b.Accuracy, a.Accuracy) })
	return found
}

// leaks holds the nodes that teach rules and the nodes that measure them.
type leaks struct {
	d           *dataset.Dataset
	learn, hold []int32
	majority    int32 // class
}

// most returns the most frequent class of nodes, the first of several; -1 for none.
func (l *leaks) most(nodes []int32) int32 {
	counts := make([]int, len(l.d.Classes))
	best := int32(-1)
	for _, i := range nodes {
		counts[l.d.Labels[i]]++
	}
	for c, n := range counts {
		if n > 0 && (best < 0 || n > counts[best]) {
			best = int32(c)
		}
	}
	return best
}

// measure compares a rule's classes of the held-out nodes, -1 for none, with their true classes.
func (l *leaks) measure(name, rule string, says func(i int32) int32) Predictor {
	var right, frequent int
	for _, i := range l.hold {
		said := says(i)
		if said < 0 {
			said = l.majority
		}
		if said == l.d.Labels[i] {
			right++
		}
		if l.majority == l.d.Labels[i] {
			frequent++
		}
	}
	percent := 100 / float64(len(l.hold))
	return Predictor{name, rule, float64(right) * percent, float64(frequent) * percent}
}

func (l *leaks) byValue(name, rule string, value func(i int32) string) Predictor {
	groups := map[string][]int32{}
	for _, i := range l.learn {
		v := value(i)
		groups[v] = append(groups[v], i)
	}
	says := make(map[string]int32, len(groups))
	for v, nodes := range groups {
		says[v] = l.most(nodes)
	}
	return l.measure(name, rule, func(i int32) int32 {
		if c, ok := says[value(i)]; ok {
			return c
		}
		return -1
	})
}

func (l *leaks) byInterval(name string, value func(i int32) (float64, bool)) Predictor {
	var known []float64
	for _, i := range l.learn {
		if v, ok := value(i); ok {
			known = append(known, v)
		}
	}
	slices.Sort(known)
	var cuts []float64
	for k := 1; k < bins && len(known) > 0; k++ {
		cuts = append(cuts, known[k*len(known)/bins])
	}
	cuts = slices.Compact(cuts)
	return l.byValue(name, "most frequent class of each of "+strconv.Itoa(bins)+" intervals", func(i int32) string {
		v, ok := value(i)
		if !ok {
			return "missing"
		}
		return strconv.Itoa(sort.Search(len(cuts), func(k int) bool { return cuts[k] > v }))
	})
}

// ids reads ids as numbers if all are, else the text before their first digit.
func (l *leaks) ids() Predictor {
	numbers := make([]float64, len(l.d.IDs))
	for i, id := range l.d.IDs {
		v, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return l.byValue("(id)", "most frequent class of what stands before the first digit", func(i int32) string {
				id := l.d.IDs[i]
				return id[:max(strings.IndexAny(id, "0123456789"), 0)]
			})
		}
		numbers[i] = float64(v)
	}
	return l.byInterval("(id)", func(i int32) (float64, bool) { return numbers[i], true })
}

func (l *leaks) edges() Predictor {
	learns := make([]bool, l.d.Nodes())
	for _, i := range l.learn {
		learns[i] = true
	}
	return l.measure("(edges alone)", "most frequent class of the neighbours", func(i int32) int32 {
		var of []int32
		cols, _ := l.d.Adj.Row(int(i))
		for _, c := range cols {
			if learns[c] {
				of = append(of, c)
			}
		}
		return l.most(of)
	})
}

func valueText(v schema.Value) string {
	switch v.Type {
	case schema.Missing:
		return "missing"
	case schema.Bool:
		return strconv.FormatFloat(v.Number, 'g', -1, 64)
	}
	return "=" + v.Text
}

func valueNumber(v schema.Value) (float64, bool) {
	if v.Type == schema.Time {
		return float64(v.Time.Unix()), true
	}
	return v.Number, v.Type == schema.Number
}
