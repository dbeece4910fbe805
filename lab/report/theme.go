package report

import (
	"fmt"
	"html/template"
	"image/color"
	"strings"
)

// role is the purpose of a colour. Plots are drawn in stand-in colours, one a role, which the SVG replaces by the
// style sheet's variables (svg.go).
type role uint8

const (
	ink    role = iota // text, axes
	faint              // grid
	onLow              // text on a cell of the lower half of the scale
	onHigh             // text on a cell of the upper half
	none               // a cell without a value
	series             // series+k: the k-th of [seriesColours]
	cells  = series + 8
)

// cellLevels are the steps of the scale of cells: cells+0 lowest, cells+16 highest.
const cellLevels = 17

// standIn returns the colour that is replaced.
func (r role) standIn() color.Color { return color.RGBA{R: 1, G: uint8(r), B: 0x5a, A: 255} }

// variable returns the style sheet's name of the role.
func (r role) variable() string {
	switch {
	case r >= cells:
		return fmt.Sprintf("--cell-%d", r-cells)
	case r >= series:
		return fmt.Sprintf("--series-%d", r-series)
	}
	return [...]string{"--ink", "--faint", "--on-low", "--on-high", "--no-value"}[r]
}

// scheme is the colours of one appearance.
type scheme struct {
	ink, faint, onLow, onHigh, none, paper, panel, muted, link string
	series                                                     [cells - series]string
	stops                                                      []color.RGBA // of the scale of cells
}

// Series are near Okabe and Ito's ("Color Universal Design", 2008), moved until each has a contrast of 3:1 or more
// to its paper.
var (
	light = scheme{
		ink: "#1b1f24", faint: "#dde1e6", onLow: "#10151b", onHigh: "#ffffff", none: "#eceff2", paper: "#ffffff",
		panel: "#f6f7f9",
		muted: "#57606a", link: "#0a58a8",
		series: [...]string{"#0067a8", "#c24a00", "#007a59", "#a3427d", "#7d6200", "#2b84c2", "#55606b", "#7b1e3a"},
		stops:  []color.RGBA{rgb(0xeef3fa), rgb(0x9ecae1), rgb(0x3a87bd), rgb(0x08519c), rgb(0x06264d)},
	}
	dark = scheme{
		ink: "#e8eaed", faint: "#343b44", onLow: "#ffffff", onHigh: "#0b1016", none: "#2a2f36", paper: "#14171b",
		panel: "#1d2126",
		muted: "#a3abb5", link: "#7fbdf5",
		series: [...]string{"#58b1ec", "#ff8b47", "#2cc79a", "#ee9ac8", "#e8bd22", "#a9d5ff", "#b5bcc5", "#e8788f"},
		stops:  []color.RGBA{rgb(0x1b2530), rgb(0x1d4a73), rgb(0x2b79b0), rgb(0x86c1e6), rgb(0xeaf6ff)},
	}
)

func rgb(v uint32) color.RGBA {
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255}
}

// variables returns the scheme as declarations of a style sheet.
func (s *scheme) variables() template.CSS {
	var b strings.Builder
	declare := func(name, value string) { fmt.Fprintf(&b, "%s:%s;", name, value) }
	for r, value := range []string{s.ink, s.faint, s.onLow, s.onHigh, s.none} {
		declare(role(r).variable(), value)
	}
	declare("--paper", s.paper)
	declare("--panel", s.panel)
	declare("--muted", s.muted)
	declare("--link", s.link)
	for k, value := range s.series {
		declare((series + role(k)).variable(), value)
	}
	for k := range cellLevels {
		c := between(s.stops, float64(k)/(cellLevels-1))
		declare((cells + role(k)).variable(), fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B))
	}
	return template.CSS(b.String()) // nothing in it comes from outside
}

// levelStyles give the legend of cells its colours: class l0 is the lowest.
func levelStyles() template.CSS {
	var b strings.Builder
	for k := range cellLevels {
		fmt.Fprintf(&b, ".l%d{background:var(%s)}", k, (cells + role(k)).variable())
	}
	return template.CSS(b.String()) // nothing in it comes from outside
}

// between returns the colour at a share of the way along equally spaced stops.
func between(stops []color.RGBA, at float64) color.RGBA {
	at *= float64(len(stops) - 1)
	k := min(int(at), len(stops)-2)
	f := at - float64(k)
	mix := func(a, b uint8) uint8 { return uint8(float64(a) + f*(float64(b)-float64(a)) + 0.5) }
	a, b := stops[k], stops[k+1]
	return color.RGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: 255}
}
