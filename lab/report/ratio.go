package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rivulet/trainer/eval"
)

// ratio shows accuracy against N'/N: a plot for each model, setting and kind of batch, methods as lines.
func (p *Page) ratio() section {
	s := section{ID: "ratio", Title: capital(p.scoreName()) + " against ratio"}
	for _, model := range distinct(p.Results, func(r *eval.Result) string { return r.Model }) {
		g := group{Title: model}
		for _, setting := range distinct(p.Results, settingOf) {
			for _, batch := range distinct(p.Results, func(r *eval.Result) string { return r.Batch }) {
				if f, ok := p.ratioFigure(fmt.Sprintf("ratio-%d-%d", len(s.Groups), len(g.Figures)), model, setting, batch); ok {
					g.Figures = append(g.Figures, f)
				}
			}
		}
		if len(g.Figures) > 0 {
			s.Groups = append(s.Groups, g)
		}
	}
	if len(s.Groups) == 0 {
		s.Missing = "No method was evaluated at two sizes of S or more. trainer report --data DIR --ratios " +
			"0.005,0.01,0.02 does that."
		return s
	}
	s.Text = []string{"Test " + p.scoreName() +
		" without label or error propagation. Bars are one sample deviation over " +
		"seeds."}
	return s
}

// ratioFigure draws one plot; false if no method has two sizes.
func (p *Page) ratioFigure(id, model, setting, batch string) (figure, bool) {
	lines := map[string][]*eval.Result{}
	var names []string
	for k := range p.Results {
		r := &p.Results[k]
		if r.Setting == eval.OtoO || r.Model != model || settingOf(r) != setting || r.Batch != batch || !isPlain(r) {
			continue
		}
		name := p.lineName(r)
		if lines[name] == nil {
			names = append(names, name)
		}
		lines[name] = append(lines[name], r)
	}
	c := chart{id: id, title: fmt.Sprintf("%s, %s, %s batches", model, setting, batch),
		x: axis{label: "N'/N (%)"}, y: axis{label: p.scoreName() + " (%)"}}
	most, low, high := 0, 0.0, 0.0
	for _, name := range names {
		rows := lines[name]
		slices.SortStableFunc(rows, func(a, b *eval.Result) int { return cmp.Compare(a.Ratio, b.Ratio) })
		line := curve{name: name, slot: p.slot(name)}
		for _, r := range rows {
			line.x, line.y = append(line.x, 100*r.Ratio), append(line.y, scoreOf(r))
			if low == 0 || r.Ratio < low {
				low = r.Ratio
			}
			high = max(high, r.Ratio)
		}
		c.curves = append(c.curves, line)
		most = max(most, len(slices.Compact(slices.Clone(line.x))))
	}
	if most < 2 || c.empty() {
		return figure{}, false
	}
	c.x.log = low > 0 && high >= 3*low
	if whole := p.whole(model, batch); whole != nil {
		c.curves = append(c.curves, curve{name: "Whole", x: []float64{100 * high}, y: []eval.Spread{scoreOf(whole)},
			level: true})
	}
	c.description = fmt.Sprintf("Test %s by the share of nodes that S has, %d lines. The numbers are in the table below.",
		p.scoreName(), len(c.curves))
	f := c.figure()
	f.Values = c.values(significant, percent)
	return f, true
}

// capital returns a name as the beginning of a title.
func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// lineName returns the method, with the attachment if its rows have several.
func (p *Page) lineName(r *eval.Result) string {
	for k := range p.Results {
		if other := &p.Results[k]; onS(other) && onS(r) && other.Method == r.Method && other.Attachment != r.Attachment {
			return r.Method + ", " + r.Attachment
		}
	}
	return r.Method
}

// slot returns a method's colour, marker and dash, the same in every plot.
func (p *Page) slot(name string) int {
	return slices.Index(distinct(p.Results, p.lineName), name)
}
