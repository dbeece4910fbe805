package oracle

import (
	"rivulet/event"
	"rivulet/infer/attach"
	"slices"
)

const (
	atOnce    = 64      // choices that are predicted together
	mostTries = 1 << 14 // choices of one prediction
	fewTries  = 1 << 8  // choices of one prediction, after many that were not explained
)

// search returns the rows, an empty one for a neighbour that is not known, that give a prediction its numbers. Nodes of
// T are known, unless it is degraded. all is false if there are more choices than may be tried.
func search(m Model, a *event.Arrival, s *Said, options [][]attach.Row, likely []bool, most int) (found []attach.Row,
	ok, all bool) {
	var waiting [][]attach.Row
	tries := 0
	try := func() bool {
		for i, numbers := range m.Predict(a, waiting) {
			if numbers == s.Numbers {
				found, ok = waiting[i], true
				break
			}
		}
		tries += len(waiting)
		waiting = waiting[:0]
		return !ok && tries < most
	}
	absent := func(e int) bool { return s.Degraded || len(options[e]) == 0 || options[e][0].Arrived }
	choices(options, likely, absent, s.Known, s.Arrivals, func(choice []attach.Row) bool {
		waiting = append(waiting, choice)
		return len(waiting) < min(atOnce, tries) || try()
	})
	if !ok && len(waiting) > 0 {
		try()
	}
	return found, ok, tries < most
}

// choices visits each choice of one row a neighbour, or none where that is possible, with so many nodes of T and
// arrivals (-1: any number), until visit returns false. The first option of a neighbour is the likely one: its first
// row, or none. The choices with the fewest steps away from these come first.
func choices(options [][]attach.Row, likely []bool, absent func(e int) bool, known, arrivals int,
	visit func([]attach.Row) bool) {
	ordered, most := make([][]attach.Row, len(options)), 0
	for e, rows := range options {
		switch none := (attach.Row{}); {
		case !absent(e):
			ordered[e] = rows
		case likely[e]:
			ordered[e] = append(slices.Clip(rows), none)
		default:
			ordered[e] = append([]attach.Row{none}, rows...)
		}
		most += len(ordered[e]) - 1
	}
	choice := make([]attach.Row, len(options))
	var at func(e, known, arrivals, steps int) bool
	at = func(e, known, arrivals, steps int) bool {
		if e == len(options) {
			return steps > 0 || known > 0 || arrivals > 0 || visit(slices.Clone(choice))
		}
		for i, row := range ordered[e] {
			k, r := known, arrivals
			switch {
			case row.Arrived:
				r--
			case row.Known:
				k--
			}
			if i > steps {
				break
			}
			if known == 0 && k < 0 || arrivals == 0 && r < 0 {
				continue
			}
			choice[e] = row
			if !at(e+1, k, r, steps-i) {
				return false
			}
		}
		return true
	}
	for steps := 0; steps <= most && at(0, known, arrivals, steps); steps++ {
	}
}
