package report

import (
	"image/color"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

func labels(ticks []plot.Tick) string {
	var out []string
	for _, t := range ticks {
		if t.Label != "" {
			out = append(out, t.Label)
		}
	}
	return strings.Join(out, " ")
}

func TestLinearTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 3000, "0 1000 2000 3000"}, {88.2, 92.7, "89 90 91 92"}, {-0.1, 1, "0.0 0.5 1.0"},
		{93.41, 93.44, "93.41 93.42 93.43 93.44"},
		{0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
	} {
		if got := labels(linearTicks(c.low, c.high)); got != c.want {
			t.Errorf("%g to %g: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64 // of values
		want      string
	}{
		{0.1, 100, "0.1 1 10 100"}, {0.25, 1, "0.5 1"}, {0.9, 60, "1 3 10 30"},
		{1e-6, 1e6, "1e-6 0.0001 0.01 1 100 10000 1000000"},
		{2, 2.6, "2 2.2 2.4 2.6"},
	} {
		got := logTicks(math.Log10(c.low), math.Log10(c.high), number)
		if labels(got) != c.want {
			t.Errorf("%g to %g: %q, want %q", c.low, c.high, labels(got), c.want)
		}
		for _, tick := range got {
			if tick.Label != "" && number(math.Pow(10, tick.Value)) != tick.Label {
				t.Errorf("tick %s stands at %g", tick.Label, math.Pow(10, tick.Value))
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0": number(0), "1234567": number(1234567), "1.235e9": number(1234567890), "3e-5": number(3e-5),
		"–":      number(math.NaN()),
		"412 MB": bytesText(412e6), "1.50 kB": bytesText(1500), "2.35 GB": bytesText(2.346e9), "12.0 B": bytesText(12),
		"0.0123": significant(0.012345), "213": significant(213.4), "1.00": significant(0.9999), "100 MB": roundBytes(1e8),
		"2 MB": roundBytes(2e6),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A line of many losses is the means of equal runs of them, at their middle.
func TestBinned(t *testing.T) {
	x, y, per := binned([]float64{1, 3, math.NaN(), 5, math.NaN(), math.Inf(1), 7}, 4)
	wantX, wantY := []float64{1.5, 3.5, 5.5, 7}, []float64{2, 5, math.NaN(), 7}
	if per != 2 || len(x) != 4 {
		t.Fatalf("%d a point, points %v", per, x)
	}
	for k := range x {
		if x[k] != wantX[k] || (y[k] != wantY[k] && !(math.IsNaN(y[k]) && math.IsNaN(wantY[k]))) {
			t.Errorf("point %d is (%g, %g), want (%g, %g)", k, x[k], y[k], wantX[k], wantY[k])
		}
	}
}

// Row 0 of the values is the top row of the picture, and the scale's ends are its first and last level.
func TestCellsStandAsTheyAreRead(t *testing.T) {
	m := cellMap{values: [][]float64{{0, 10}, {2.5, math.NaN()}}, high: 10}
	g := grid{&m}
	for _, c := range []struct {
		column, row int
		want        float64
	}{{0, 1, 0}, {1, 1, cellLevels - 1}, {0, 0, (cellLevels - 1) / 4}} {
		if got := g.Z(c.column, c.row); got != c.want {
			t.Errorf("column %d, row %d from below: level %g, want %g", c.column, c.row, got, c.want)
		}
	}
	if !math.IsNaN(g.Z(1, 0)) {
		t.Error("a cell without a value has a level")
	}
}

// Text and lines stand out from what they are drawn on: 4.5:1 for text and 3:1 for graphics (WCAG 2.2, 1.4.3 and
// 1.4.11).
func TestContrast(t *testing.T) {
	for name, s := range map[string]*scheme{"light": &light, "dark": &dark} {
		paper := parse(t, s.paper)
		for _, text := range []string{s.ink, s.muted, s.link} {
			for _, under := range []string{s.paper, s.panel} {
				if c := contrast(parse(t, text), parse(t, under)); c < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", name, text, under, c)
				}
			}
		}
		for _, line := range s.series {
			if c := contrast(parse(t, line), paper); c < 3 {
				t.Errorf("%s: %s on %s has a contrast of %.2f", name, line, s.paper, c)
			}
		}
		for k := range cellLevels {
			text := s.onLow
			if k > cellLevels/2 {
				text = s.onHigh
			}
			if c := contrast(parse(t, text), between(s.stops, float64(k)/(cellLevels-1))); c < 4.5 {
				t.Errorf("%s: %s on level %d has a contrast of %.2f", name, text, k, c)
			}
		}
	}
}

func parse(t *testing.T, hex string) color.RGBA {
	t.Helper()
	var v uint32
	for _, c := range strings.TrimPrefix(hex, "#") {
		v = v<<4 | uint32(strings.IndexRune("0123456789abcdef", c))
	}
	return rgb(v)
}

func contrast(a, b color.RGBA) float64 {
	luminance := func(c color.RGBA) float64 {
		linear := func(v uint8) float64 {
			s := float64(v) / 255
			if s <= 0.04045 {
				return s / 12.92
			}
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
