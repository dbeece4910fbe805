package report

import (
	"fmt"
	"math"
)

// mapping shows the mean weight of M by classes before and after training, on one scale.
func (p *Page) mapping() section {
	s := section{ID: "mapping", Title: "M by classes"}
	if p.Heat == nil || len(p.Heat.Before)+len(p.Heat.After) == 0 {
		s.Missing = "The learned method's M is not part of this page. " + runLearned + " makes it."
		return s
	}
	high := 0.0
	for _, m := range [][][]float64{p.Heat.Before, p.Heat.After} {
		for _, row := range m {
			for _, v := range row {
				if !math.IsInf(v, 0) && v > high { // not NaN either
					high = v
				}
			}
		}
	}
	g := group{}
	for k, m := range [][][]float64{p.Heat.Before, p.Heat.After} {
		if len(m) == 0 {
			continue
		}
		when := []string{"before", "after"}[k]
		cells := cellMap{id: "mapping-" + when, title: "Mean weight of M " + when + " training",
			names: p.classes(len(m)), values: m, high: high,
			x: "class of the synthetic node", y: "class of T's node", text: func(v float64) string {
				return weightText(v, high)
			}}
		cells.description = fmt.Sprintf("Mean weight of M between nodes of T and synthetic nodes, by class, %d classes. %s",
			len(m), diagonalText(m))
		f := cells.figure()
		f.Caption = diagonalText(m)
		g.Figures = append(g.Figures, f)
	}
	s.Text = []string{"A cell is the weight that T's nodes of a class (row) give to the synthetic nodes of a class " +
		"(column), in the mean over these nodes of T; both maps have one scale."}
	s.Groups = []group{g}
	return s
}

// weightText returns a weight with as many decimals as the largest one needs for two digits.
func weightText(v, high float64) string {
	if high <= 0 {
		return number(v)
	}
	return fixed(v, max(2, 1-int(math.Floor(math.Log10(high)))))
}

// diagonalText says in words how much weight stays within a class.
func diagonalText(m [][]float64) string {
	var same, other float64
	var nSame, nOther int
	for r, row := range m {
		for c, v := range row {
			switch {
			case math.IsNaN(v):
			case r == c:
				same, nSame = same+v, nSame+1
			default:
				other, nOther = other+v, nOther+1
			}
		}
	}
	return fmt.Sprintf("Mean within a class %s, between classes %s.", number(same/float64(nSame)),
		number(other/float64(nOther)))
}
