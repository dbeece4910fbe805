package dataset

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"rivulet/graph"
	"rivulet/infer/target"
)

// numbers reads the labels of nodes as numbers, one for each output.
func (b *builder) numbers(d *Dataset) error {
	b.targets = make([]float64, len(b.labels)*len(b.settings.Labels()))
	d.Classes = b.settings.Labels()
	d.Targets = graph.NewDense(len(b.labels), len(d.Classes))
	d.Labels = make([]int32, len(b.labels))
	labelled := 0
	for i, text := range b.labels {
		if d.Labels[i] = -1; text == "" {
			continue
		}
		d.Labels[i], labelled = 0, labelled+1
		parts := strings.Split(text, target.Mark)
		if len(parts) != len(d.Classes) {
			return fmt.Errorf("node %.100q: columns %s: %.100q are %d numbers, want %d", b.ids[i],
				strings.Join(d.Classes, ", "), text, len(parts), len(d.Classes))
		}
		for k, part := range parts {
			if b.settings.Decimal == "," {
				part = strings.Replace(part, ",", ".", 1)
			}
			v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
			switch {
			case math.Abs(v) > math.MaxFloat32 && !math.IsInf(v, 0), errors.Is(err, strconv.ErrRange):
				return fmt.Errorf("node %.100q: column %s: %.100q is beyond single precision, which ends at %.2g: write it in "+
					"a larger unit", b.ids[i], d.Classes[k], part, math.MaxFloat32)
			case err == nil && (math.IsNaN(v) || math.IsInf(v, 0)):
				err = fmt.Errorf("it is %v, want a finite number", v)
			}
			if err != nil {
				return fmt.Errorf("node %.100q: column %s: %.100q is no number, and the task is number: %w", b.ids[i],
					d.Classes[k], part, err)
			}
			b.targets[i*len(parts)+k] = v
			d.Targets.Row(i)[k] = float32(v)
		}
	}
	if labelled == 0 {
		return fmt.Errorf("columns %s: no node has a number to learn from", strings.Join(d.Classes, ", "))
	}
	return nil
}

// steepest is the largest share of an output's mean in its standard deviation that float32 carries without loss that
// matters: a date in seconds since 1970 that varies by a week is at 2,800, one that varies by an hour at 500,000.
const steepest = 1e4

// checkNumbers refuses edges with types or directions, which were not measured with numbers, and outputs that cannot
// be learned: all the same, or with differences that float32 does not carry. written are the numbers as they were
// written, node by node, before float32 rounded them; nil: those of d.Targets.
func (d *Dataset) checkNumbers(written []float64) error {
	if err := d.Facts().Check(); err != nil {
		return err
	}
	for k, name := range d.Classes {
		number := func(i int32) float64 {
			if written != nil {
				return written[int(i)*len(d.Classes)+k]
			}
			return float64(d.Targets.Row(int(i))[k])
		}
		n, sum, squares := 0.0, 0.0, 0.0
		least, most := math.Inf(1), math.Inf(-1)
		for _, i := range d.Train {
			if d.Labels[i] >= 0 {
				n, sum, least, most = n+1, sum+number(i), min(least, number(i)), max(most, number(i))
			}
		}
		mean := sum / max(1, n)
		for _, i := range d.Train {
			if d.Labels[i] >= 0 {
				e := number(i) - mean
				squares += e * e
			}
		}
		deviation := math.Sqrt(squares / max(1, n))
		switch {
		case n > 0 && least == most:
			return fmt.Errorf("column %s: all %d training nodes have the number %g, and there is nothing to learn", name,
				int(n), least)
		case n > 0 && math.Abs(mean) > steepest*deviation:
			return fmt.Errorf("column %s: its numbers lie around %.6g and differ by %.3g only, which single precision does not "+
				"carry: write the difference from a fixed number", name, mean, deviation)
		case n > 0 && deviation < leastNormal:
			return fmt.Errorf("column %s: its numbers differ by %.3g only, which single precision does not carry (it ends at "+
				"%.3g): write them in a smaller unit", name, deviation, leastNormal)
		}
		if n > 0 {
			d.note("Output %s: %.4g in the mean of %d training nodes, standard deviation %.4g.", name, mean, int(n), deviation)
		}
	}
	return nil
}
