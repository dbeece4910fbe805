package report

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bars are quantities on a logarithmic axis, each under a line of text with its name and value.
type bars struct {
	id, title, description string
	x                      axis
	bars                   []bar
}

type bar struct {
	name   string
	text   string // the quantity as it is read
	value  float64
	colour role
}

const (
	barPitch = 29 // from one bar to the next
	barWidth = 9
	axisRoom = 18
)

// figure draws the bars whose quantity is above 0.
func (b *bars) figure() figure {
	var drawn []bar
	least := math.Inf(1)
	for _, one := range b.bars {
		if one.value > 0 && !math.IsInf(one.value, 0) {
			drawn = append(drawn, one)
			least = min(least, one.value)
		}
	}
	if len(drawn) == 0 {
		return figure{}
	}
	p := newPlot()
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint.standIn(), nil
	p.Add(grid, barPlot(drawn))
	b.x.log = true
	b.x.mark(&p.X)
	// The scale has no zero: bars begin at a power of ten below the least.
	p.X.Min = math.Floor(math.Log10(least) - 0.05)
	p.Y.Min, p.Y.Max = -0.5, float64(len(drawn))-0.5
	p.Y.Tick.Marker = plot.ConstantTicks{}
	p.Y.LineStyle.Width = 0
	height := 46 + barPitch*float64(len(drawn))
	return figure{ID: b.id, Title: b.title, SVG: svg(p, b.id, b.title, b.description, "bars", height)}
}

type barPlot []bar

func (b barPlot) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	name, quantity := textStyle(ink, tickSize), textStyle(ink, tickSize)
	name.XAlign, name.YAlign = draw.XLeft, draw.YBottom
	quantity.XAlign, quantity.YAlign = draw.XRight, draw.YBottom
	for k, one := range b {
		middle := y(float64(len(b) - 1 - k))
		low, high := middle-barWidth, middle
		right := x(math.Log10(one.value))
		c.SetColor(one.colour.standIn())
		c.Fill(vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: low}, Max: vg.Point{X: right, Y: high}}.Path())
		c.FillText(name, vg.Point{X: c.Min.X + 1, Y: high + 3}, one.name)
		c.FillText(quantity, vg.Point{X: c.Max.X, Y: high + 3}, one.text)
	}
}

// GlyphBoxes keep half the first label of the axis inside the picture.
func (b barPlot) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{Y: 0.5, Rectangle: vg.Rectangle{Min: vg.Point{X: -axisRoom}, Max: vg.Point{}}}}
}

func (b barPlot) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax = math.Inf(1), math.Inf(-1)
	for _, one := range b {
		v := math.Log10(one.value)
		xmin, xmax = min(xmin, v), max(xmax, v)
	}
	return xmin, xmax, 0, float64(len(b) - 1)
}
