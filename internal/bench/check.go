package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Bound is the least that a ratio of a report may be.
type Bound struct {
	Section, Name, Unit string
	Least               float64
}

// String names the ratio.
func (b Bound) String() string { return fmt.Sprintf("%s %s, %s", b.Section, b.Name, b.Unit) }

// Bounds are the bounds of [Check]. They compare CPU time, which other work on a machine changes least: with twenty
// times more work than it could do, shares of CPU time moved by a third and shares of the clock by a factor of three.
// Each bound is at most about half of the least ratio measured there.
func Bounds() []Bound {
	return []Bound{
		{Kernels, "flickr/1000x500x256/row-stable", "plain's CPU", 3},
		{Kernels, "flickr/1000x500x256/fast", "plain's CPU", 2},
		{Rivals, "flickr/sgc/batch=1/Whole", "CPU times S", 500},
		{Rivals, "flickr/sgc/batch=1000/Whole", "CPU times S", 3},
		{Rivals, "flickr/sgc/batch=1000/cached", "CPU times S", 0.25},
		{Rivals, "flickr/gcn/batch=1000/Whole", "CPU times S", 8},
		{Rivals, "flickr/gcn/batch=1000/neighbourhood", "CPU times S", 2.5},
		{Stream, "flickr/json/consumer-of-passthrough", "CPU share", 0.2},
		{Stream, "flickr/protobuf/consumer-of-passthrough", "CPU share", 0.2},
		{Stream, "flickr/json/passthrough-of-franz-go", "CPU share", 0.8},
		{Stream, "flickr/protobuf/passthrough-of-franz-go", "CPU share", 0.8},
	}
}

// Check measures the ratios that have bounds: no absolute time is among them. The report is there also where the
// error says that a ratio is below its bound.
func Check(ctx context.Context, o Options) (*Report, error) {
	o.Only, o.Shapes, o.Models, o.Time = []string{Kernels, Rivals, Stream}, []string{"flickr"},
		[]string{"sgc", "gcn"}, 100*time.Millisecond
	o.unloaded = true
	report, err := Run(ctx, o)
	if err != nil {
		return nil, err
	}
	return report, Judge(report, Bounds())
}

// Judge returns an error that names each ratio below its bound, or not in the report, and by how much.
func Judge(r *Report, bounds []Bound) error {
	var failed []error
	for _, b := range bounds {
		got, ok := r.figure(b.Section, b.Name, b.Unit)
		switch {
		case !ok:
			failed = append(failed, fmt.Errorf("%s: it was not measured, want at least %s", b, short(b.Least)))
		case !(got >= b.Least): // NaN too
			failed = append(failed, fmt.Errorf("%s: %s, want at least %s: it is %.0f%% below", b, short(got),
				short(b.Least), 100*(1-got/b.Least)))
		}
	}
	return errors.Join(failed...)
}

// figure finds a figure of the report.
func (r *Report) figure(section, name, unit string) (float64, bool) {
	for _, row := range r.Rows {
		if row.Section == section && row.Name == name {
			v, ok := row.Figures[unit]
			return v, ok
		}
	}
	return 0, false
}
