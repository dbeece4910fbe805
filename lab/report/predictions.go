package report

import (
	"fmt"
	"math"

	"rivulet/trainer/eval"
)

// shown returns the rows for a picture of single predictions: the first that is deployed on S and has the data for
// it, in graph batches if possible, and Whole's beside it.
func (p *Page) shown(has func(r *eval.Result) bool) []*eval.Result {
	var found *eval.Result
	better := func(r, than *eval.Result) bool {
		if than == nil || onS(r) != onS(than) {
			return than == nil || onS(r)
		}
		return r.Batch == "graph" && than.Batch != "graph"
	}
	for k := range p.Results {
		if r := &p.Results[k]; has(r) && isPlain(r) && better(r, found) {
			found = r
		}
	}
	if found == nil {
		return nil
	}
	if whole := p.whole(found.Model, found.Batch); whole != nil && whole != found && has(whole) {
		return []*eval.Result{found, whole}
	}
	return []*eval.Result{found}
}

func (p *Page) shownName(r *eval.Result) string {
	name := methodOf(r) + " " + settingOf(r)
	if onS(r) {
		name += fmt.Sprintf(", N' = %d", r.SyntheticNodes)
	}
	return fmt.Sprintf("%s, %s, %s batches", name, r.Model, r.Batch)
}

// confusion shows predictions by label, as shares of the label.
func (p *Page) confusion() section {
	s := section{ID: "confusion", Title: "Confusion matrix"}
	rows := p.shown(func(r *eval.Result) bool { return len(r.Confusion) > 0 })
	if len(rows) == 0 {
		s.Missing = "The results do not count predictions by class. trainer eval --data DIR --json does."
		return s
	}
	g := group{}
	for k, r := range rows {
		shares, n := byLabel(r.Confusion)
		m := cellMap{id: fmt.Sprintf("confusion-%d", k), title: p.shownName(r), names: p.classes(len(shares)),
			values: shares, high: 100, x: "predicted class", y: "class", text: wholePercent}
		m.description = fmt.Sprintf("Share of each class's test nodes by predicted class, in percent; %d predictions, "+
			"accuracy %s %%.", n, percent(r.Accuracy.Mean))
		f := m.figure()
		f.Scale.Low, f.Scale.High = "0 %", "100 %"
		f.Caption = fmt.Sprintf("%d predictions over seeds %s, accuracy %s %%.", n, seedText(r.Seeds), percents(r.Accuracy))
		f.Values = countTable(r.Confusion, &m)
		g.Figures = append(g.Figures, f)
	}
	s.Text = []string{"A cell is the share, in percent, of a class's test nodes (row) that were predicted to be of a " +
		"class (column). The counts are in the table."}
	s.Groups = []group{g}
	return s
}

func wholePercent(v float64) string {
	if v > 0 && v < 0.5 {
		return "<1"
	}
	return fixed(v, 0)
}

// byLabel returns counts as percent of their row, NaN in an empty row, and the sum of all.
func byLabel(counts [][]int) (shares [][]float64, all int) {
	for _, row := range counts {
		n := 0
		for _, v := range row {
			n += v
		}
		all += n
		line := make([]float64, len(row))
		for c, v := range row {
			line[c] = math.NaN()
			if n > 0 {
				line[c] = 100 * float64(v) / float64(n)
			}
		}
		shares = append(shares, line)
	}
	return shares, all
}

func countTable(counts [][]int, m *cellMap) *table {
	t := m.table()
	t.Caption = m.title + ", counts: rows are classes, columns predictions"
	for r, row := range counts {
		for c, v := range row {
			t.Rows[r][1+c] = fmt.Sprint(v)
		}
	}
	return t
}

// reliability shows the share of predictions that are right against their probability.
func (p *Page) reliability() section {
	s := section{ID: "reliability", Title: "Reliability of probabilities"}
	rows := p.shown(func(r *eval.Result) bool { return counted(r.Reliability) > 0 })
	if len(rows) == 0 {
		s.Missing = "The results have no bins of probabilities. trainer eval --data DIR --json has."
		return s
	}
	zero, one := 0.0, 1.0
	g := group{}
	for k, r := range rows {
		c := chart{id: fmt.Sprintf("reliability-%d", k), title: p.shownName(r), diagonal: true,
			x: axis{label: "mean probability in the bin", low: &zero, high: &one},
			y: axis{label: "share that is right", low: &zero, high: &one}}
		t := &table{Caption: c.title, Head: []string{"", "bin", "predictions", "mean probability", "share right"}, Texts: 2}
		for i, b := range []struct {
			name string
			bins []eval.Bin
		}{{"after temperature", r.Reliability}, {"before temperature", r.ReliabilityBefore}} {
			if counted(b.bins) == 0 {
				continue
			}
			line := curve{name: b.name, slot: i}
			for j, bin := range b.bins {
				if bin.Count == 0 {
					continue
				}
				line.x, line.y = append(line.x, bin.Confidence), append(line.y, eval.Spread{Mean: bin.Accuracy})
				t.Rows = append(t.Rows, []string{b.name, binName(j, len(b.bins)), fmt.Sprint(bin.Count),
					fixed(bin.Confidence, 3), fixed(bin.Accuracy, 3)})
			}
			c.curves = append(c.curves, line)
		}
		calibration := fmt.Sprintf("Expected calibration error %s %% before temperature, %s %% after.",
			percents(r.ECEBefore), percents(r.ECE))
		c.description = "Share of predictions that are right by their probability; the diagonal is perfect calibration. " +
			calibration
		f := c.figure()
		f.Values, f.Caption = t, calibration
		g.Figures = append(g.Figures, f)
	}
	of := "the probability of the predicted class"
	if rows[0].Labels != nil {
		of = "the probability of each label"
	}
	s.Text = []string{fmt.Sprintf(
		"Predictions are sorted into %d bins by %s. On the dotted diagonal a probability is the "+
			"share that is right; below it the model is too sure of itself.", len(rows[0].Reliability), of)}
	s.Groups = []group{g}
	return s
}

func counted(bins []eval.Bin) int {
	n := 0
	for _, b := range bins {
		n += b.Count
	}
	return n
}

func binName(k, n int) string {
	return fmt.Sprintf("%.2f–%.2f", float64(k)/float64(n), float64(k+1)/float64(n))
}
