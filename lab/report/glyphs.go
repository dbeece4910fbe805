package report

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The plot library's filled markers are a circle, a square and a triangle; these are the others.
type (
	diamond    struct{}
	wedge      struct{} // a triangle that stands on its tip
	heavyCross struct{}
	heavyPlus  struct{}
	ring       struct{}
)

func (diamond) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := s.Radius * 1.2
	polygon(c, at, vg.Point{Y: r}, vg.Point{X: r}, vg.Point{Y: -r}, vg.Point{X: -r})
}

func (wedge) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := s.Radius * 1.15
	side := r * vg.Length(math.Sqrt(3)/2)
	polygon(c, at, vg.Point{Y: -r}, vg.Point{X: side, Y: r / 2}, vg.Point{X: -side, Y: r / 2})
}

func (heavyCross) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := s.Radius * 0.8
	style := draw.LineStyle{Color: s.Color, Width: 2}
	c.StrokeLine2(style, at.X-r, at.Y-r, at.X+r, at.Y+r)
	c.StrokeLine2(style, at.X-r, at.Y+r, at.X+r, at.Y-r)
}

func (heavyPlus) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	style := draw.LineStyle{Color: s.Color, Width: 2}
	c.StrokeLine2(style, at.X-s.Radius, at.Y, at.X+s.Radius, at.Y)
	c.StrokeLine2(style, at.X, at.Y-s.Radius, at.X, at.Y+s.Radius)
}

func (ring) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: s.Color, Width: 1.6})
	r := s.Radius * 0.9
	var p vg.Path
	p.Move(vg.Point{X: at.X + r, Y: at.Y})
	p.Arc(at, r, 0, 2*math.Pi)
	p.Close()
	c.Stroke(p)
}

func polygon(c *draw.Canvas, at vg.Point, corners ...vg.Point) {
	var p vg.Path
	p.Move(at.Add(corners[0]))
	for _, corner := range corners[1:] {
		p.Line(at.Add(corner))
	}
	p.Close()
	c.Fill(p)
}

// across is a line over the whole width of a plot.
type across struct {
	y     float64
	style draw.LineStyle
}

func (a across) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	c.StrokeLine2(a.style, c.Min.X, y(a.y), c.Max.X, y(a.y))
}

func (a across) DataRange() (xmin, xmax, ymin, ymax float64) {
	return math.Inf(1), math.Inf(-1), a.y, a.y
}

// tags are texts at points: above them, or below, or not at all if others are in the way.
type tags []tag

type tag struct {
	at   plotter.XY
	text string
}

func (t tags) Plot(c draw.Canvas, p *plot.Plot) {
	const gap = 5 // from a point to its text
	x, y := p.Transforms(&c)
	style := textStyle(ink, tickSize-1)
	style.YAlign = draw.YBottom
	var taken []vg.Rectangle
	for _, one := range t {
		at := vg.Point{X: x(one.at.X), Y: y(one.at.Y)}
		taken = append(taken, draw.GlyphStyle{Radius: gap - 1}.Rectangle().Add(at))
	}
	for _, one := range t {
		size := style.Rectangle(one.text).Size()
		middle := vg.Point{X: min(max(x(one.at.X), c.Min.X+size.X/2), c.Max.X-size.X/2), Y: y(one.at.Y) + gap}
		for _, low := range []vg.Length{middle.Y, middle.Y - 2*gap - size.Y} {
			box := vg.Rectangle{Min: vg.Point{X: middle.X - size.X/2, Y: low},
				Max: vg.Point{X: middle.X + size.X/2, Y: low + size.Y}}
			if low < c.Min.Y || slices.ContainsFunc(taken, func(r vg.Rectangle) bool { return overlap(r, box) }) {
				continue
			}
			taken = append(taken, box)
			c.FillText(style, vg.Point{X: middle.X, Y: low}, one.text)
			break
		}
	}
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

// slope is y = x from 0 to 1.
type slope struct{}

func (slope) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: ink.standIn(), Width: 1, Dashes: []vg.Length{3, 3}}, x(0), y(0), x(1), y(1))
}

func (slope) DataRange() (xmin, xmax, ymin, ymax float64) { return 0, 1, 0, 1 }
