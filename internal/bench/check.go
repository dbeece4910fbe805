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

// Bounds are those of [Check]. Each is at most about half of what two quiet cores show, so that a busy machine
// passes and a path that has become twice as slow as its rival does not.
func Bounds() []Bound {
	return []Bound{
		{Kernels, "flickr/1000x500x256/row-stable", "plain's time", 2},
		{Kernels, "flickr/1000x500x256/fast", "plain's time", 2},
		{Rivals, "flickr/sgc/batch=1/Whole", "times S", 50},
		{Rivals, "flickr/sgc/batch=1000/Whole", "times S", 2},
		{Rivals, "flickr/sgc/batch=1000/cached", "times S", 0.3},
		{Rivals, "flickr/gcn/batch=1000/Whole", "times S", 10},
		{Rivals, "flickr/gcn/batch=1000/neighbourhood", "times S", 3},
		{Stream, "flickr/json/consumer-of-passthrough", "share", 0.25},
		{Stream, "flickr/protobuf/consumer-of-passthrough", "share", 0.3},
		{Stream, "flickr/json/passthrough-of-franz-go", "share", 0.5},
		{Stream, "flickr/protobuf/passthrough-of-franz-go", "share", 0.5},
	}
}

// Check measures the ratios that have bounds: no absolute time is among them. The report is there also where the
// error says that a ratio is below its bound.
func Check(ctx context.Context, o Options) (*Report, error) {
	o.Only, o.Shapes, o.Models, o.Time = []string{Kernels, Rivals, Stream}, []string{"flickr"}, []string{"sgc", "gcn"}, 150*time.Millisecond
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
			failed = append(failed, fmt.Errorf("%s: %s, want at least %s: it is %.0f%% below", b, short(got), short(b.Least), 100*(1-got/b.Least)))
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
