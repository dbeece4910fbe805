package report

import (
	"fmt"
)

// sparsity shows accuracy against the share of M that is 0.
func (p *Page) sparsity() section {
	s := section{ID: "sparsity", Title: "Sparsity of M"}
	c := chart{id: "sparsity-m", title: "Accuracy against sparsity of M",
		x: axis{label: "entries of M that are not 0 (%)", log: true}, y: axis{label: "accuracy (%)"}}
	t := &table{Caption: c.title, Head: []string{"method", "by", "entries of M", "a row", "sparsity %",
		"accuracy %"}, Texts: 2}
	for k, one := range p.Sparsity {
		line := curve{name: fmt.Sprintf("%s over %s (%s)", one.Method, one.Parameter, one.Of), slot: k}
		for _, point := range one.Points {
			by := fmt.Sprintf("%s = %s", one.Parameter, number(point.Value))
			share := 100 * (1 - float64(point.Entries)/(float64(one.Nodes)*float64(one.SyntheticNodes)))
			line.x, line.y, line.labels = append(line.x, 100-share), append(line.y, point.Accuracy), append(line.labels, by)
			t.Rows = append(t.Rows, []string{one.Method, by, fmt.Sprint(point.Entries),
				fixed(float64(point.Entries)/float64(one.Nodes), 2), percent(share), percents(point.Accuracy)})
		}
		c.curves = append(c.curves, line)
	}
	if c.empty() {
		s.Missing = "M has not been made sparser step by step. trainer report --data DIR --parts learned,sparsity does " +
			"that, over δ for the learned M and over k for the solved one."
		return s
	}
	c.description = "Accuracy by the share of entries of M that are not zero, a point for each threshold or number of " +
		"entries a row. The numbers are in the table below."
	f := c.figure()
	f.Values = t
	s.Text = []string{"Sparsity is the share of M's N×N' entries that are 0; to the left M is sparser. δ drops the " +
		"entries of the learned M below δ/N'; k is the most entries a row " +
		"of the solved M may have."}
	s.Groups = []group{{Figures: []figure{f}}}
	return s
}

// sensitivity shows accuracy over the weights of the losses, a plot a weight.
func (p *Page) sensitivity() section {
	s := section{ID: "sensitivity", Title: "Sensitivity to λ and β"}
	g := group{}
	for k, one := range p.Sensitivity {
		c := chart{id: fmt.Sprintf("sensitivity-%d", k), title: "Accuracy over " + one.Parameter,
			x: axis{label: one.Parameter}, y: axis{label: "accuracy (%)"}}
		for _, v := range one.Values {
			c.x.names = append(c.x.names, number(v))
		}
		t := &table{Caption: c.title, Head: append([]string{"setting"}, c.x.names...), Texts: 1}
		for i, line := range one.Lines {
			x := make([]float64, len(one.Values))
			row := []string{line.Name}
			for j := range x {
				x[j] = float64(j)
				row = append(row, percents(line.Accuracy[j]))
			}
			c.curves = append(c.curves, curve{name: line.Name, x: x, y: line.Accuracy, slot: i})
			t.Rows = append(t.Rows, row)
		}
		if c.empty() {
			continue
		}
		c.description = fmt.Sprintf("Accuracy at %d values of %s, evenly spaced. The numbers are in the table below.",
			len(one.Values), one.Parameter)
		f := c.figure()
		f.Values, f.Caption = t, joinText(one.Of, one.Fixed)
		g.Figures = append(g.Figures, f)
	}
	if len(g.Figures) == 0 {
		s.Missing = "λ and β have not been varied. trainer report --data DIR --parts sensitivity trains the learned " +
			"method at each of their values."
		return s
	}
	s.Text = []string{"λ weighs L_str against L_gra, β weighs L_ind against L_tra."}
	s.Groups = []group{g}
	return s
}

func joinText(parts ...string) string {
	out := ""
	for _, part := range parts {
		if part != "" && out != "" {
			out += "; "
		}
		out += part
	}
	return out
}
