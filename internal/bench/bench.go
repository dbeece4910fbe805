package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"rivulet/config"
	"rivulet/infer/architecture"
	"rivulet/internal/cli"
)

// Sections of a run.
const (
	Core   = "core"
	Stream = "stream"
)

// Sections are all sections, in the order in which they are measured.
var Sections = []string{Core, Stream}

// Options select the measurements.
type Options struct {
	Only   []string // sections; none: all
	Shapes []string // by name; none: all. The section stream has flickr's unless one is named
	Models []string // by name; none: all that have a frozen form
	// Time is the time that each figure is measured. Streams are drained and paced in proportion to it.
	Time time.Duration
	// Rate is a rate, in arrivals a second, at which streams are sent besides shares of the most; 0: none.
	Rate int
	// Delivery is the consumer's setting of that name: exactly_once adds streams with transactions to those of at
	// least once.
	Delivery string
	// Services returns where Kafka and Redis are; it is called by the sections that need them.
	Services func(ctx context.Context) (*Services, error)
	Progress *cli.Lines
}

// Validate returns an error for options that no run can meet.
func (o *Options) Validate() error {
	if o.Time <= 0 {
		return fmt.Errorf("--time is %s, want more than 0", o.Time)
	}
	for _, name := range o.Only {
		if !slices.Contains(Sections, name) {
			return fmt.Errorf("--only has %q, want some of %s", name, strings.Join(Sections, ", "))
		}
	}
	if !slices.Contains([]string{"", config.AtLeastOnce, config.ExactlyOnce}, o.Delivery) {
		return fmt.Errorf("--delivery is %q, want %s or %s", o.Delivery, config.AtLeastOnce, config.ExactlyOnce)
	}
	if o.Rate < 0 {
		return fmt.Errorf("--rate is %d, want 0 or more", o.Rate)
	}
	if _, err := o.architectures(); err != nil {
		return err
	}
	_, err := o.shapes()
	return err
}

// ShapeNamed returns a shape by its name.
func ShapeNamed(name string) (Shape, error) {
	var names []string
	for _, s := range Shapes() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Shape{}, fmt.Errorf("the shape is %q, want one of %s", name, strings.Join(names, ", "))
}

func (o *Options) shapes() ([]Shape, error) {
	if len(o.Shapes) == 0 {
		return Shapes(), nil
	}
	var out []Shape
	for _, name := range o.Shapes {
		s, err := ShapeNamed(name)
		if err != nil {
			return nil, fmt.Errorf("--shapes: %w", err)
		}
		out = append(out, s)
	}
	return out, nil
}

func (o *Options) architectures() ([]*architecture.Architecture, error) {
	if len(o.Models) == 0 {
		return architecture.Plain(), nil
	}
	var out []*architecture.Architecture
	for _, name := range o.Models {
		a, err := architecture.Lookup(name)
		if err != nil {
			return nil, fmt.Errorf("--models: %w", err)
		}
		if a.Relational() {
			return nil, fmt.Errorf("--models: %s reads types or directions of edges, which the benchmark's graphs do not have",
				name)
		}
		out = append(out, a)
	}
	return out, nil
}

// Run measures the sections that are asked for.
func Run(ctx context.Context, o Options) (*Report, error) {
	b, err := newSuite(o)
	if err != nil {
		return nil, err
	}
	for _, section := range []struct {
		name    string
		measure func(context.Context) error
	}{{Core, b.core}, {Stream, b.stream}} {
		if len(o.Only) > 0 && !slices.Contains(o.Only, section.name) {
			continue
		}
		if err := section.measure(ctx); err != nil {
			return nil, fmt.Errorf("measuring %s: %w", section.name, err)
		}
	}
	o.Progress.Done()
	return b.report, nil
}

// suite measures the sections of one report.
type suite struct {
	Options
	report *Report
	shapes []Shape
	models []*architecture.Architecture
}

func newSuite(o Options) (*suite, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	shapes, _ := o.shapes() // they were checked
	models, _ := o.architectures()
	return &suite{o, &Report{Machine: ThisMachine(), Seconds: o.Time.Seconds()}, shapes, models}, nil
}

// batchSizes are the batch sizes of section core.
var batchSizes = []int{1, 10, 100, 1000}

// inputs is the number of different batches of a size that a figure goes through, so that each is new to the
// processor's caches as a stream's are, within reason.
func inputs(size int) int { return max(8, min(256, 20_000/size)) }
