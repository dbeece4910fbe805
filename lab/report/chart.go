package report

import (
	"fmt"
	"html/template"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"rivulet/trainer/eval"
)

// figure is a plot with its texts and tables on the page.
type figure struct {
	ID      string
	Title   string
	Caption string
	SVG     template.HTML
	Legend  []legendEntry
	Scale   *scale // of cells
	Values  *table // the same as numbers; nil if the plot shows them as text
}

type legendEntry struct {
	Swatch template.HTML
	Name   string
}

// curve is one line of a chart.
type curve struct {
	name   string
	x      []float64
	y      []eval.Spread
	labels []string // at the points, if there is room; nil: none
	level  bool     // across the whole chart at y[0], without markers
	dense  bool     // too many points for markers
	slot   int      // colour, marker and dash; curves of one name keep the same from chart to chart
}

// chart is lines over one x axis.
type chart struct {
	id, title, description string
	x, y                   axis
	curves                 []curve
	diagonal               bool // y = x, for reference
}

const chartHeight = 270

// markers differ in their outline alone.
var markers = [...]draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, diamond{},
	wedge{}, heavyCross{}, heavyPlus{}, ring{}}

var dashes = [...][]vg.Length{nil, {6, 2.5}, {2, 2}, {8, 2.5, 2, 2.5}, {4, 4}, {1, 3}, {10, 3}, {6, 2, 2, 2, 2, 2}}

func (c *curve) lineStyle() draw.LineStyle {
	s := draw.LineStyle{Color: (series + role(c.slot%len(markers))).standIn(), Width: 1.8,
		Dashes: dashes[c.slot%len(dashes)]}
	switch {
	case c.level:
		s.Color, s.Width, s.Dashes = ink.standIn(), 1.4, []vg.Length{7, 3, 1.5, 3}
	case c.dense:
		s.Width = 1.3
	}
	return s
}

func (c *curve) glyphStyle() draw.GlyphStyle {
	return draw.GlyphStyle{Color: (series + role(c.slot%len(markers))).standIn(), Radius: 4,
		Shape: markers[c.slot%len(markers)]}
}

// points returns the points of a curve that have a place on both axes, with their indices.
func (c *chart) points(of *curve) (at plotter.XYs, index []int) {
	for k := range of.x {
		x, okX := c.x.place(of.x[k])
		y, okY := c.y.place(of.y[k].Mean)
		if okX && okY {
			at, index = append(at, plotter.XY{X: x, Y: y}), append(index, k)
		}
	}
	return at, index
}

// empty reports whether there is nothing to draw.
func (c *chart) empty() bool {
	for k := range c.curves {
		if at, _ := c.points(&c.curves[k]); len(at) > 0 {
			return false
		}
	}
	return true
}

// figure draws the chart.
func (c *chart) figure() figure {
	p := newPlot()
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint.standIn(), faint.standIn()
	p.Add(grid)
	if c.diagonal {
		p.Add(slope{})
	}
	f := figure{ID: c.id, Title: c.title}
	var tagged tags
	for k := range c.curves {
		of := &c.curves[k]
		at, index := c.points(of)
		if len(at) == 0 {
			continue
		}
		if of.labels != nil {
			for i, k := range index {
				tagged = append(tagged, tag{at[i], of.labels[k]})
			}
		}
		f.Legend = append(f.Legend, legendEntry{Swatch: of.swatch(), Name: of.name})
		if of.level {
			p.Add(across{y: at[0].Y, style: of.lineStyle()})
			continue
		}
		p.Add(c.line(of, at, index)...)
	}
	p.Add(tagged)
	c.x.mark(&p.X)
	c.y.mark(&p.Y)
	f.SVG = svg(p, c.id, c.title, c.description, "lines", chartHeight)
	return f
}

// line returns a curve's parts in the plot: deviations, line, markers.
func (c *chart) line(of *curve, at plotter.XYs, index []int) []plot.Plotter {
	var out []plot.Plotter
	if bars := deviations(of, at, index); bars != nil && !c.y.log {
		out = append(out, bars)
	}
	out = append(out, &plotter.Line{XYs: at, LineStyle: of.lineStyle()})
	if !of.dense {
		out = append(out, &plotter.Scatter{XYs: at, GlyphStyle: of.glyphStyle()})
	}
	return out
}

// deviations returns bars of one sample deviation each way; nil if there are none.
func deviations(of *curve, at plotter.XYs, index []int) *plotter.YErrorBars {
	bars := &plotter.YErrorBars{LineStyle: of.lineStyle(), CapWidth: 6}
	bars.Width, bars.Dashes = 1, nil
	for i, k := range index {
		if s := of.y[k].Std; s > 0 && !math.IsInf(s, 0) {
			bars.XYs = append(bars.XYs, at[i])
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{s, s})
		}
	}
	if len(bars.XYs) == 0 {
		return nil
	}
	return bars
}

// swatch returns a piece of the line with its marker, for the legend.
func (c *curve) swatch() template.HTML {
	const width, height = 34, 12
	canvas := vgsvg.New(width, height)
	d := draw.New(canvas)
	d.StrokeLine2(c.lineStyle(), 1, height/2, width-1, height/2)
	if !c.dense && !c.level {
		d.DrawGlyph(c.glyphStyle(), vg.Point{X: width / 2, Y: height / 2})
	}
	return restyle(canvas, width, height, `class="swatch" aria-hidden="true">`)
}

// values returns the table of a chart's points, a row each.
func (c *chart) values(x func(float64) string, y func(float64) string) *table {
	t := &table{Caption: c.title, Head: []string{"line", c.x.label, c.y.label}, Texts: 1}
	for k := range c.curves {
		of := &c.curves[k]
		for i := range of.x {
			at := x(of.x[i])
			if of.level {
				at = "all"
			}
			t.Rows = append(t.Rows, []string{of.name, at, spreadText(of.y[i], y)})
		}
	}
	return t
}

func spreadText(s eval.Spread, text func(float64) string) string {
	if s.Std != 0 {
		return fmt.Sprintf("%s ± %s", text(s.Mean), text(s.Std))
	}
	return text(s.Mean)
}

// exact returns values without a spread.
func exact(values []float64) []eval.Spread {
	out := make([]eval.Spread, len(values))
	for k, v := range values {
		out[k].Mean = v
	}
	return out
}
