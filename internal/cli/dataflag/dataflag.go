// Package dataflag gives the commands that need a data set the same flags for it: a directory, or a generated graph.
package dataflag

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/dataset/table"
	"rivulet/internal/help"
)

// Data is the data set that the flags choose.
type Data struct {
	Dir, Format string
	SplitSeed   uint64
	Tables      table.Settings

	Preset string
	Nodes  int // of the preset; 0: the preset's own number
	Seed   uint64

	// Faults, if set, collects the faults of tables instead of ending at the first.
	Faults *table.Faults
	// Check, if there is one, looks at a data set that was read or generated, and returns warnings about it.
	Check func(*dataset.Dataset) (warnings []string, err error)
	// Strict makes warnings errors.
	Strict bool

	// Checked says that Check has seen the whole data set.
	Checked bool

	Notes io.Writer // gets the data set's notes, a line each; standard error by default
}

// Register adds --data, --format, --split-seed, --preset, --preset-nodes, --preset-seed and the flags of tables. A
// command with a flag --nodes of its own registers it before. fallback is the preset to use if neither --data nor
// --preset is given; empty means that one of them must be.
func Register(flags *pflag.FlagSet, fallback string) *Data {
	d := &Data{Notes: os.Stderr}
	meaning := "one of them is required"
	if fallback != "" {
		meaning = "neither: preset " + fallback
	}
	help.Group(flags, "Data", func() {
		flags.StringVar(&d.Dir, "data", "", "directory or file of a data set; or --nodes and --edges, or --preset; "+meaning)
		flags.StringVar(&d.Format, "format", "", "format of --data: "+strings.Join(formats(),
			", ")+"; empty: recognised by its files")
		flags.Uint64Var(&d.SplitSeed, "split-seed", 1, "seed of the random split, 50/25/25, of data without one")
		flags.StringVar(&d.Preset, "preset", "", "generate a graph instead: "+strings.Join(generate.Presets(), ", "))
		flags.IntVar(&d.Nodes, "preset-nodes", 0,
			"nodes of the generated graph, edges and roles in proportion; 0: the preset's own")
		flags.Uint64Var(&d.Seed, "preset-seed", 1, "seed of the generated graph")
		flags.BoolVar(&d.Strict, "strict", false, "warnings about what the data may not mean are errors")
	})
	help.Group(flags, "Tables", func() { d.registerTables(flags) })
	return d
}

func formats() []string {
	var names []string
	for _, f := range dataset.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// Open reads or generates the data set, and checks it. Its notes and warnings are written.
func (d *Data) Open(fallback string) (*dataset.Dataset, error) {
	set, err := d.open(fallback)
	if err != nil {
		return nil, err
	}
	if d.Check != nil {
		warnings, err := d.Check(set)
		if err != nil {
			return nil, fmt.Errorf("data set %s: %w", set.Name, err)
		}
		set.Suspects, d.Checked = append(set.Suspects, warnings...), true
	}
	for _, note := range set.Notes {
		fmt.Fprintf(d.Notes, "%s: %s\n", set.Name, note)
	}
	return set, d.Warn(set.Name, set.Suspects)
}

func (d *Data) open(fallback string) (*dataset.Dataset, error) {
	preset := d.Preset
	tables := d.namesTables()
	if preset == "" && d.Dir == "" && !tables {
		preset = fallback
	}
	switch {
	case tables && (d.Dir != "" || d.Preset != ""):
		return nil, errors.New("tables --nodes and --edges are given beside --data or --preset, want one data set")
	case d.Dir != "" && d.Preset != "":
		return nil, fmt.Errorf("both --data %s and --preset %s are given, want one", d.Dir, d.Preset)
	case d.Dir != "" && d.Nodes != 0:
		return nil, fmt.Errorf("--preset-nodes is %d, but --data %s is not a preset", d.Nodes, d.Dir)
	case d.Dir == "" && !tables && (!d.Tables.IsZero() || d.Tables.DropWeights || d.Tables.DropUnknown ||
		d.Tables.EdgeType != "" || d.Tables.Directed || d.Tables.ArrivalEdges != ""):
		return nil, errors.New("a flag says what columns of tables mean, but neither --nodes and --edges nor --data is given")
	case d.Dir == "" && !tables && d.Format != "":
		return nil, fmt.Errorf("--format is %s, but no --data is given", d.Format)
	case d.Dir != "" || tables:
		if !tables {
			return dataset.Open(d.Dir, d.options())
		}
		if err := d.checkTables(); err != nil {
			return nil, err
		}
		return dataset.OpenTables(d.options())
	case preset == "":
		return nil, errors.New("no data set: give --data DIR, tables --nodes and --edges, or --preset NAME")
	}
	g, ok := generate.Preset(preset)
	if !ok {
		return nil, fmt.Errorf("--preset is %q, want one of %s", preset, strings.Join(generate.Presets(), ", "))
	}
	if d.Nodes != 0 {
		var err error
		if g, err = generate.Scaled(preset, d.Nodes); err != nil {
			return nil, fmt.Errorf("--preset-nodes: %w", err)
		}
	}
	return generate.Graph(g, d.Seed)
}

// Warn writes warnings about a data set, or returns them as an error if the flags ask for that.
func (d *Data) Warn(name string, warnings []string) error {
	for _, warning := range warnings {
		fmt.Fprintf(d.Notes, "%s: warning: %s\n", name, warning)
	}
	if d.Strict && len(warnings) > 0 {
		return fmt.Errorf("%s: %s (--strict makes %d warnings errors)", name, warnings[0], len(warnings))
	}
	return nil
}

// options are the options for opening the data set.
func (d *Data) options() dataset.OpenOptions {
	return dataset.OpenOptions{Format: d.Format, SplitSeed: d.SplitSeed, Tables: d.Tables, Faults: d.Faults}
}

// namesTables reports whether flags name tables.
func (d *Data) namesTables() bool { return d.Tables.Nodes != "" || d.Tables.Edges != "" }
