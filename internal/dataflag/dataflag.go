// Package dataflag gives the commands that need a data set the same flags for it: a directory, or a graph made on the spot.
package dataflag

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"rivulet/dataset"
)

// Data says which data set is meant.
type Data struct {
	Dir, Preset string
	Seed        uint64
}

// Register adds --data, --preset and --preset-seed. fallback is the preset that is taken when neither is given; empty
// means that one of them must be.
func Register(flags *pflag.FlagSet, fallback string) *Data {
	d := &Data{}
	meaning := "one of the two is required"
	if fallback != "" {
		meaning = "neither: preset " + fallback
	}
	flags.StringVar(&d.Dir, "data", "", "directory of a data set in GraphSAINT layout; "+meaning)
	flags.StringVar(&d.Preset, "preset", "", "generate a graph instead: "+strings.Join(dataset.Presets(), ", "))
	flags.Uint64Var(&d.Seed, "preset-seed", 1, "seed of the generated graph")
	return d
}

// Open reads or generates the data set.
func (d *Data) Open(fallback string) (*dataset.Dataset, error) {
	preset := d.Preset
	if preset == "" && d.Dir == "" {
		preset = fallback
	}
	switch {
	case d.Dir != "" && d.Preset != "":
		return nil, fmt.Errorf("both --data %s and --preset %s are given, want one", d.Dir, d.Preset)
	case d.Dir != "":
		return dataset.Load(d.Dir)
	case preset == "":
		return nil, errors.New("no data set: give --data DIR or --preset NAME")
	}
	g, ok := dataset.Preset(preset)
	if !ok {
		return nil, fmt.Errorf("--preset is %q, want one of %s", preset, strings.Join(dataset.Presets(), ", "))
	}
	return dataset.Generate(g, d.Seed)
}
