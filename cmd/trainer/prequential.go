package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/dataset"
	"rivulet/internal/cli"
	"rivulet/lab/study"
	"rivulet/trainer/prequential"
)

// prequentialOutput is the output of eval --prequential --json.
type prequentialOutput struct {
	Data        string                `json:"data"`
	Fingerprint string                `json:"fingerprint"`
	Command     string                `json:"command"`
	Results     []*prequential.Result `json:"results"` // one for each seed
}

// prequentialFlags are the flags of eval --prequential.
type prequentialFlags struct {
	on      bool
	missing []float64 // shares of edges that are lost, instead of a stream
	o       prequential.Options
	flags   *pflag.FlagSet
}

func newPrequentialFlags(flags *pflag.FlagSet) *prequentialFlags {
	p := &prequentialFlags{o: prequential.Defaults(), flags: flags}
	flags.BoolVar(&p.on, "prequential", false,
		"judge all nodes in the order of their times (--time; without times in the order of a walk outward from one node)")
	flags.Float64SliceVar(&p.missing, "missing-edges", nil,
		"measure test nodes that have lost these shares of their edges, on T and S, without and with own features; "+
			"without a value: 0,0.3,0.5,0.7,0.9,1")
	flags.Lookup("missing-edges").NoOptDefVal = "0,0.3,0.5,0.7,0.9,1"
	flags.Float64Var(&p.o.First, "first", p.o.First, "prequential: share of the nodes that are there at the start")
	flags.IntVar(&p.o.Chunks, "chunks", p.o.Chunks,
		"prequential: parts of the stream, between which S may be trained anew")
	flags.IntVar(&p.o.Delay, "label-delay", p.o.Delay,
		"prequential: chunks until the labels of a chunk are known; 1: before the next one")
	flags.IntVar(&p.o.Bounds.Batch, "micro-batch", p.o.Bounds.Batch,
		"prequential: arrivals of a micro-batch, which do not know each other")
	boundsFlags(flags, &p.o.Bounds)
	return p
}

// prequentialNames and boundNames are the flags that only a stream reads, and only alarms.
var (
	prequentialNames = []string{"first", "chunks", "label-delay", "micro-batch"}
	boundNames       = []string{"alarm-agreement", "alarm-drop", "alarm-growth", "alarm-most-growth", "alarm-sample"}
)

// requireFlag returns an error if one of the flags names is given without the flag that reads it.
func requireFlag(flags *pflag.FlagSet, by string, on bool, names ...string) error {
	for _, name := range names {
		if !on && flags.Changed(name) {
			return fmt.Errorf("--%s is read by --%s only", name, by)
		}
	}
	return nil
}

// check returns an error for flags that nothing reads.
func (p *prequentialFlags) check() error {
	return requireFlag(p.flags, "prequential", p.on, slices.Concat(prequentialNames, boundNames)...)
}

// boundsFlags registers the flags of the alarms.
func boundsFlags(flags *pflag.FlagSet, b *prequential.Bounds) {
	flags.Float64Var(&b.Agreement, "alarm-agreement", b.Agreement,
		"alarm: percent of the newest arrivals that S has to answer as T does with the arrivals in it")
	flags.Float64Var(&b.Drop, "alarm-drop", b.Drop,
		"alarm: points that the accuracy of the newest labelled arrivals may be below that of the validation nodes")
	flags.Float64Var(&b.Growth, "alarm-growth", b.Growth,
		"alarm: share of T's nodes that have to arrive before accuracy raises one")
	flags.Float64Var(&b.MostGrowth, "alarm-most-growth", b.MostGrowth,
		"alarm: share of T's nodes that may arrive before that alone raises one")
	flags.IntVar(&b.Sample, "alarm-sample", b.Sample,
		"alarm: newest arrivals for agreement; a quarter as many labelled ones for accuracy")
}

// run judges the data set of eval's flags in its order, and prints what it found.
func (p *prequentialFlags) run(cmd *cobra.Command, f *studyFlags, asJSON bool) error {
	p.o.Run = f.o.Run
	p.o.Run.Choose = expandModels(&p.o.Run)
	var err error
	switch {
	case p.flags.Changed("methods") && len(f.o.Methods) > 1 || len(f.o.Nodes) > 1 || len(f.o.Ratios) > 1:
		err = errors.New("--prequential and --missing-edges are for one method and one size")
	case p.flags.Changed("methods"):
		p.o.Run.Method = f.o.Methods[0]
	}
	if len(f.o.Nodes) == 1 {
		p.o.Run.Nodes = f.o.Nodes[0]
	}
	if len(f.o.Ratios) == 1 {
		p.o.Run.Ratio = f.o.Ratios[0]
	}
	if err = errors.Join(err, p.o.Validate(), f.named.apply(&p.o.Run)); err != nil {
		return err
	}
	d, err := opened(f.data)
	if err != nil {
		return err
	}
	if p.missing != nil {
		return p.runMissing(cmd, f, d, asJSON)
	}
	out := prequentialOutput{Data: d.Name, Fingerprint: d.Fingerprint(), Command: strings.Join(os.Args, " ")}
	for _, seed := range f.seeds {
		p.o.Run.Seed = uint64(seed)
		r, err := prequential.Run(cmd.Context(), d, p.o, cli.Stderr())
		if err != nil {
			return err
		}
		out.Results = append(out.Results, r)
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
	}
	for _, r := range out.Results {
		if err := r.Print(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	return nil
}

// missingOutput is the output of eval --missing-edges --json.
type missingOutput struct {
	Data        string                `json:"data"`
	Fingerprint string                `json:"fingerprint"`
	Command     string                `json:"command"`
	Seeds       []uint64              `json:"seeds"`
	Results     []study.MissingResult `json:"results"` // one for each share of lost edges
}

// runMissing measures the test nodes with shares of their edges lost, and prints what it found.
func (p *prequentialFlags) runMissing(cmd *cobra.Command, f *studyFlags, d *dataset.Dataset, asJSON bool) error {
	out := missingOutput{Data: d.Name, Fingerprint: d.Fingerprint(), Command: strings.Join(os.Args, " ")}
	for _, seed := range f.seeds {
		out.Seeds = append(out.Seeds, uint64(seed))
	}
	var err error
	if out.Results, err = study.Missing(cmd.Context(), d, p.o.Run, out.Seeds, p.missing, cli.Stderr()); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
	}
	if err := study.WriteMissing(cmd.OutOrStdout(), out.Results); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s, seeds %v; accuracy of test nodes in percent, node batches\n", d.Name,
		out.Seeds)
	return err
}
