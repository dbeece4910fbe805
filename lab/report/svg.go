package report

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Plots are this wide in their own units, which is about the width of a small phone: the page never shrinks their
// text by more than a fifth.
const plotWidth = 380

const (
	labelSize = 13 // of an axis
	tickSize  = 12
)

// sans has the widths of the fonts that the style sheet names for plots.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

var (
	styles   = regexp.MustCompile(`style="[^"]*"`)
	standIns = regexp.MustCompile(`#01([0-9A-Fa-f]{2})5[Aa]`)
	fonts    = regexp.MustCompile(`font-(family|variant|weight|style):[^;"]*;`)
)

// svg returns a picture of a plot, with a name and description for screen readers, and with the style sheet's
// colours and font.
func svg(p *plot.Plot, id, title, description, class string, height float64) template.HTML {
	c := vgsvg.New(plotWidth, vg.Length(height))
	p.Draw(draw.Crop(draw.New(c), 1, -6, 1, -4)) // room for a browser's font, which may be wider
	head := fmt.Sprintf(`class="%[4]s" role="img" aria-labelledby="%[1]s-t %[1]s-d"><title `+
		`id="%[1]s-t">%[2]s</title><desc id="%[1]s-d">%[3]s</desc>`,
		id, html.EscapeString(title), html.EscapeString(description), class)
	return restyle(c, plotWidth, height, head)
}

// restyle returns a canvas with another opening tag, to which head gives attributes and first children, and with
// the style sheet's colours.
func restyle(c *vgsvg.Canvas, width, height float64, head string) template.HTML {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		panic(err) // a buffer takes everything
	}
	_, body, _ := strings.Cut(b.String(), "<svg")
	_, body, _ = strings.Cut(body, ">")
	body = styles.ReplaceAllStringFunc(body, func(s string) string {
		s = fonts.ReplaceAllString(s, "")
		return standIns.ReplaceAllStringFunc(s, func(c string) string {
			r, err := strconv.ParseUint(c[3:5], 16, 8)
			if err != nil {
				panic(err) // the expression has two digits there
			}
			return "var(" + role(r).variable() + ")"
		})
	})
	// text is escaped above and by the canvas
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %g %g" %s%s`, width, height, head, body))
}

// newPlot returns an empty plot in the page's look.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color = ink.standIn(), ink.standIn()
		a.Label.TextStyle.Color, a.Tick.Label.Color = ink.standIn(), ink.standIn()
		a.Label.TextStyle.Font, a.Tick.Label.Font = font.From(sans, labelSize), font.From(sans, tickSize)
		a.Label.Padding = 3
		a.Tick.Length = 4
		a.Padding = 0
	}
	return p
}

// textStyle returns centred text inside a plot.
func textStyle(r role, size font.Length) text.Style {
	return text.Style{Color: r.standIn(), Font: font.From(sans, size), XAlign: text.XCenter, YAlign: text.YCenter,
		Handler: plot.DefaultTextHandler}
}
