package report

import (
	"fmt"
	"image/color"
	"math"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// cellMap is a square of values by class, the first row on top.
type cellMap struct {
	id, title, description string
	x, y                   string
	names                  []string
	values                 [][]float64 // C×C; NaN: no value
	low, high              float64     // of the scale
	text                   func(float64) string
}

// scale is the legend of cells.
type scale struct {
	Low, High string
	Levels    []int
}

const (
	writtenCells = 10 // up to so many classes the figures stand in the cells
	namedCells   = 24 // up to so many classes they go by name; beyond, by number, and not all of them
	longestName  = 13 // letters
)

func (m *cellMap) figure() figure {
	n := len(m.values)
	p := newPlot()
	p.Add(m.heat())
	if n <= writtenCells {
		p.Add(m.written())
	}
	size := float64(tickSize)
	if n > 12 {
		size -= 2
	}
	names := make([]string, n)
	longest := 0
	for c := range names {
		names[c] = elided(m.names[c])
		if n > namedCells {
			names[c] = spaced(c, n)
		}
		longest = max(longest, utf8.RuneCountInString(names[c]))
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Tick.Label.Font.Size = vg.Length(size)
		a.Tick.Length, a.Tick.Width, a.LineStyle.Width = 0, 0, 0
		a.Min, a.Max = -0.5, float64(n)-0.5
	}
	p.X.Label.Text, p.Y.Label.Text = m.x, m.y
	p.X.Tick.Marker = namedTicks(names)
	p.Y.Tick.Marker = namedTicks(reversed(names))
	if longest*n > 48 && longest > 2 {
		p.X.Tick.Label.Rotation = math.Pi / 2
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
		for k := range names {
			names[k] += "  " // the library sets turned labels a little too high
		}
		p.X.Tick.Marker = namedTicks(names)
	}
	f := figure{ID: m.id, Title: m.title, SVG: svg(p, m.id, m.title, m.description, "cells", plotWidth*0.95)}
	f.Scale = &scale{Low: m.text(m.low), High: m.text(m.high)}
	for k := range cellLevels {
		f.Scale.Levels = append(f.Scale.Levels, k)
	}
	if n > writtenCells {
		f.Values = m.table()
	}
	return f
}

// spaced returns the number of every fifth class, or of so many classes that about ten numbers remain.
func spaced(c, n int) string {
	if c%max(5, 5*(n/50)) != 0 {
		return ""
	}
	return fmt.Sprint(c)
}

func reversed(names []string) []string {
	out := make([]string, len(names))
	for k, name := range names {
		out[len(names)-1-k] = name
	}
	return out
}

// elided returns a name that fits beside the cells.
func elided(name string) string {
	if utf8.RuneCountInString(name) <= longestName {
		return name
	}
	return string([]rune(name)[:longestName-1]) + "…"
}

// level returns the step of the scale of a value; false for none.
func (m *cellMap) level(v float64) (int, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	if m.high <= m.low {
		return 0, true
	}
	share := (v - m.low) / (m.high - m.low)
	return int(math.Round(max(0, min(1, share)) * (cellLevels - 1))), true
}

// heat returns the cells. The palette has a colour more than the scale, for cells without a value: the library
// leaves these out, which would look like the lowest.
func (m *cellMap) heat() *plotter.HeatMap {
	h := plotter.NewHeatMap(grid{m}, palette{})
	h.Min, h.Max = 0, cellLevels-1
	h.NaN = none.standIn()
	return h
}

// grid returns the levels to the library, with row 0 on top.
type grid struct{ *cellMap }

func (g grid) Dims() (c, r int) { return len(g.values), len(g.values) }
func (g grid) X(c int) float64  { return float64(c) }
func (g grid) Y(r int) float64  { return float64(r) }
func (g grid) Z(c, r int) float64 {
	level, ok := g.level(g.values[len(g.values)-1-r][c])
	if !ok {
		return math.NaN()
	}
	return float64(level)
}

type palette struct{}

func (palette) Colors() []color.Color {
	out := make([]color.Color, cellLevels)
	for k := range out {
		out[k] = (cells + role(k)).standIn()
	}
	return out
}

// written returns the figures in the cells.
func (m *cellMap) written() *plotter.Labels {
	n := len(m.values)
	l := &plotter.Labels{}
	for r, row := range m.values {
		for c, v := range row {
			colour := onLow
			if level, ok := m.level(v); !ok {
				colour = ink
			} else if level > cellLevels/2 {
				colour = onHigh
			}
			size := float64(tickSize) - 1
			if n > 7 {
				size = 9
			}
			l.XYs = append(l.XYs, plotter.XY{X: float64(c), Y: float64(n - 1 - r)})
			l.Labels = append(l.Labels, m.text(v))
			l.TextStyle = append(l.TextStyle, textStyle(colour, vg.Length(size)))
		}
	}
	return l
}

// table returns the values with class numbers, for maps whose cells have no room for them.
func (m *cellMap) table() *table {
	t := &table{Caption: m.title + ": rows " + m.y + ", columns " + m.x, Head: []string{""}, Texts: 1}
	for c := range m.values {
		t.Head = append(t.Head, fmt.Sprint(c))
	}
	for r, row := range m.values {
		name := fmt.Sprint(r)
		if m.names[r] != name {
			name += " " + m.names[r]
		}
		line := []string{name}
		for _, v := range row {
			line = append(line, m.text(v))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}
