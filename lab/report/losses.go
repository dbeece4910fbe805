package report

import (
	"fmt"
	"math"
)

// lossPoints is the largest number of points of a line of losses: with more steps a point is the mean of several.
const lossPoints = 240

const runLearned = "trainer report --data DIR --parts learned"

func (p *Page) losses() section {
	s := section{ID: "losses", Title: "Losses of the learned method"}
	l := p.Learned
	if l == nil || len(l.Gra)+len(l.Str)+len(l.Tra)+len(l.Ind) == 0 {
		s.Missing = "No run of the learned method is part of this page. " + runLearned + " makes one."
		return s
	}
	s.Text = []string{fmt.Sprintf("One run, seed %d, N' = %d. S and M are trained in turn, each with steps of its own; "+
		"the relay's weights are drawn anew in every outer round, which is why losses jump.", l.Seed, l.SyntheticNodes)}
	lines := [][]lossLine{{{"L_gra", l.Gra, 0}, {"L_str", l.Str, 1}}, {{"L_tra", l.Tra, 2}, {"L_ind", l.Ind, 3}}}
	g := group{}
	for k, on := range []string{"S", "M"} {
		if f, ok := lossFigure("losses-"+on, "Losses of the steps on "+on, lines[k]); ok {
			g.Figures = append(g.Figures, f)
		}
	}
	s.Groups = []group{g}
	return s
}

// starts shows both losses of M from each start, in one plot.
func (p *Page) starts() section {
	s := section{ID: "starts", Title: "Losses of M by its start"}
	var lines []lossLine
	for k, start := range p.Starts {
		lines = append(lines, lossLine{"L_tra, " + start.Name, start.Tra, 2 * k},
			lossLine{"L_ind, " + start.Name, start.Ind, 2*k + 1})
	}
	f, ok := lossFigure("starts-losses", "L_tra and L_ind by the start of M", lines)
	if !ok {
		s.Missing = "M has not been trained from two starts. " + runLearned +
			" trains it from a class-aware and from a random one."
		return s
	}
	s.Text = []string{"The same data, S and seed, but for M before the first step: 1 where classes agree, or random."}
	s.Groups = []group{{Figures: []figure{f}}}
	return s
}

type lossLine struct {
	name   string
	values []float64
	slot   int
}

// lossFigure draws losses by step on a logarithmic axis; false if no value can be drawn.
func lossFigure(id, title string, lines []lossLine) (figure, bool) {
	c := chart{id: id, title: title, x: axis{label: "step"}, y: axis{label: "loss", log: true}}
	t := &table{Caption: title, Head: []string{"loss", "steps", "first", "lowest", "at step", "last"}, Texts: 1}
	per := 1
	for _, l := range lines {
		if len(l.values) == 0 {
			continue
		}
		x, y, n := binned(l.values, lossPoints)
		per = max(per, n)
		c.curves = append(c.curves, curve{name: l.name, x: x, y: exact(y), dense: true, slot: l.slot})
		low := lowest(l.values)
		row := []string{l.name, fmt.Sprint(len(l.values)), number(l.values[0]), "–", "–", number(l.values[len(l.values)-1])}
		if low >= 0 {
			row[3], row[4] = number(l.values[low]), fmt.Sprint(low+1)
		}
		t.Rows = append(t.Rows, row)
	}
	if c.empty() {
		return figure{}, false
	}
	c.description = "Loss by step, on a logarithmic axis."
	for _, row := range t.Rows {
		c.description += fmt.Sprintf(" %s: from %s to %s in %s steps, lowest %s.", row[0], row[2], row[5], row[1], row[3])
	}
	f := c.figure()
	f.Values = t
	if per > 1 {
		f.Caption = fmt.Sprintf("A point is the mean of %d steps.", per)
	}
	return f, true
}

// lowest returns the index of the least finite value; -1 if there is none.
func lowest(values []float64) int {
	at := -1
	for k, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) && (at < 0 || v < values[at]) {
			at = k
		}
	}
	return at
}

// binned returns the means of at most a number of runs of equally many values, at the middle of their steps, which
// count from 1. Values that are not finite do not count.
func binned(values []float64, most int) (x, y []float64, per int) {
	per = (len(values) + most - 1) / most
	for from := 0; from < len(values); from += per {
		to := min(from+per, len(values))
		sum, n := 0.0, 0
		for _, v := range values[from:to] {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				sum += v
				n++
			}
		}
		x = append(x, float64(from+to+1)/2)
		y = append(y, sum/float64(n)) // NaN for none
	}
	return x, y, per
}
