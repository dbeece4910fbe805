package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// axis places values. Logarithms are taken here and not by the plot, whose labels are misplaced on its own
// logarithmic scale.
type axis struct {
	label string
	log   bool
	names []string // values are indices of them
	low   *float64 // the least and the largest value to show; nil: the data's
	high  *float64
	text  func(v float64) string // of a tick of a logarithmic axis; nil: number
}

// place returns a value in the plot's coordinates; false if it has no place.
func (a *axis) place(v float64) (float64, bool) {
	if a.log {
		v = math.Log10(v)
	}
	return v, !math.IsNaN(v) && !math.IsInf(v, 0)
}

// mark sets label, range and ticks of a plot's axis that already covers its data.
func (a *axis) mark(to *plot.Axis) {
	to.Label.Text = a.label
	if math.IsInf(to.Min, 0) {
		to.Min, to.Max = 0, 1
	}
	margin := 0.04 * (to.Max - to.Min)
	if margin == 0 {
		margin = math.Max(1e-3, 0.02*math.Abs(to.Max))
	}
	to.Min, to.Max = to.Min-margin, to.Max+margin
	if a.low != nil {
		to.Min = *a.low
	}
	if a.high != nil {
		to.Max = *a.high
	}
	switch {
	case a.names != nil:
		to.Min, to.Max = -0.5, float64(len(a.names))-0.5
		to.Tick.Marker = namedTicks(a.names)
	case a.log:
		text := a.text
		if text == nil {
			text = number
		}
		to.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick { return logTicks(low, high, text) })
	default:
		to.Tick.Marker = plot.TickerFunc(linearTicks)
	}
}

func namedTicks(names []string) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(names))
	for k, name := range names {
		out[k] = plot.Tick{Value: float64(k), Label: name}
	}
	return out
}

// linearTicks returns four to eight labelled ticks at multiples of 1, 2 or 5 times a power of ten.
func linearTicks(low, high float64) []plot.Tick {
	step := niceStep((high - low) / 5)
	digits := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	var out []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*step; k++ {
		v := k * step
		if k == 0 {
			v = 0 // not minus nothing
		}
		label := strconv.FormatFloat(v, 'f', digits, 64)
		if step >= 1e5 || step < 1e-4 {
			label = number(v)
		}
		out = append(out, plot.Tick{Value: v, Label: label})
	}
	return out
}

func niceStep(rough float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, f := range []float64{1, 2, 5} {
		if rough <= f*power*1.001 {
			return f * power
		}
	}
	return 10 * power
}

// logTicks returns ticks of an axis of decimal logarithms: powers of ten, and if there are few of them 2 and 5
// times these; on less than a third of a decade, round values.
func logTicks(low, high float64, text func(float64) string) []plot.Tick {
	span := high - low
	if span < 0.35 {
		out := linearTicks(math.Pow(10, low), math.Pow(10, high))
		for k := range out {
			out[k].Label = text(out[k].Value)
			out[k].Value = math.Log10(out[k].Value)
		}
		return out
	}
	every := max(1, int(math.Ceil(span/7)))
	var out []plot.Tick
	for decade := int(math.Floor(low)); decade <= int(math.Ceil(high)); decade++ {
		for digit := 1; digit <= 9; digit++ {
			at := float64(decade) + math.Log10(float64(digit))
			if at < low-1e-9 || at > high+1e-9 {
				continue
			}
			tick := plot.Tick{Value: at}
			if (digit == 1 && decade%every == 0) || (span < 1.7 && (digit == 2 || digit == 5)) ||
				(span < 2.5 && digit == 3 && span >= 1.7) {
				tick.Label = text(float64(digit) * math.Pow(10, float64(decade)))
			}
			if tick.Label != "" || (every == 1 && span < 4) {
				out = append(out, tick)
			}
		}
	}
	return out
}

// number returns a value with up to four digits, or a dash for NaN and infinity.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	s := strconv.FormatFloat(v, 'g', 4, 64)
	if mantissa, exponent, ok := strings.Cut(s, "e"); ok {
		e, err := strconv.Atoi(exponent)
		if err != nil {
			panic(err) // FormatFloat wrote it
		}
		if e >= 0 && e < 7 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return fmt.Sprintf("%se%d", mantissa, e)
	}
	return s
}

// fixed returns a value with a number of decimals, or a dash for NaN and infinity.
func fixed(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// bytesText returns a size in powers of a thousand.
func bytesText(n float64) string {
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return "–"
	case n >= 1e9:
		return significant(n/1e9) + " GB"
	case n >= 1e6:
		return significant(n/1e6) + " MB"
	case n >= 1e3:
		return significant(n/1e3) + " kB"
	}
	return significant(n) + " B"
}

// significant returns a value with three digits, or all digits before the point if there are more.
func significant(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v == 0:
		return "0"
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	if err != nil {
		panic(err) // FormatFloat wrote it
	}
	return fixed(v, max(0, 2-int(math.Floor(math.Log10(math.Abs(rounded))))))
}
