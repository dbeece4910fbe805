package explain

import (
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
)

// expertLines are the coefficients of the expert's part of the logits of one or two classes, with its relus, the degree
// and the norm held as they are. Without an expert, or with an exponent of 0, there are none.
type expertLines struct {
	project *preprocess.Projection
	lines   []linear
}

// begin sets the lines of the arrival of a place.
func (e *expertLines) begin(expert *perceptron.Expert, p *place, classes []int) {
	e.project, e.lines = nil, e.lines[:0]
	if expert == nil {
		return
	}
	a := float64(expert.Exponents.At(p.b.Neighbours(p.members[0].i)))
	if a == 0 {
		return
	}
	e.project = expert.Projection()
	layers := expert.Layers()
	last := &layers[len(layers)-1]
	for _, class := range classes {
		l := linear{bias: a * float64(last.Bias[class])}
		if len(layers) == 1 {
			l.own.add(class, a)
		}
		e.lines = append(e.lines, l)
	}
	if len(layers) == 1 {
		return
	}
	hidden := place{b: p.b, project: e.project, members: p.members[:1]}
	for c, z := range hidden.projected(0) {
		bias := float64(layers[0].Bias[c])
		if z+bias <= 0 {
			continue // a relu that is shut
		}
		for k, class := range classes {
			by := a * float64(last.Self.Row(c)[class])
			e.lines[k].bias += by * bias
			e.lines[k].own.add(c, by)
		}
	}
}

// figure makes a figure from a number of each line.
func (e *expertLines) figure(of func(l *linear) float64) Figure {
	if len(e.lines) == 0 {
		return Figure{}
	}
	f := Figure{Class: of(&e.lines[0])}
	if f.Margin = f.Class; len(e.lines) > 1 {
		f.Margin -= of(&e.lines[1])
	}
	return f
}
