package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/dataset"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
	"rivulet/internal/cli"
	"rivulet/internal/cli/dataflag"
	"rivulet/lab/methods"
	"rivulet/lab/study"
	"rivulet/trainer"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
)

// measurements is the output of eval --json.
type measurements struct {
	Data        string        `json:"data"`
	Fingerprint string        `json:"fingerprint"`
	Command     string        `json:"command"`
	Batch       int           `json:"batch"`      // nodes of a batch
	Classes     []string      `json:"classes"`    // names, by number
	PeakBytes   int64         `json:"peak_bytes"` // of the process's memory
	Results     []eval.Result `json:"results"`
	// Learned has each run of the methods that learn S.
	Learned []learnedCurves `json:"learned,omitempty"`
}

// studyFlags holds the methods and settings to measure.
type studyFlags struct {
	o     study.Options
	seeds []uint
	data  *dataflag.Data
	named *schemaFlags
	learn *learnFlags

	fingerprint string // of the opened data set, as its artifacts name it
	curves      []learnedCurves
}

func newStudyFlags(cmd *cobra.Command) *studyFlags {
	f := &studyFlags{o: study.Options{Run: trainer.Defaults()}}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.o.Methods, "methods", []string{trainer.MethodSolved, trainer.MethodCached},
		"methods to measure, or all: "+strings.Join(trainer.Methods(laboratory), ", "))
	runFlags(flags, &f.o.Run)
	flags.BoolVar(&f.o.Run.Spread, "spread", true, spreadUsage)
	flags.Float64SliceVar(&f.o.Ratios, "ratios", nil, "synthetic nodes as shares of the original graph's")
	flags.IntSliceVar(&f.o.Nodes, "nodes", nil,
		"numbers of synthetic nodes, instead of --ratios; neither: one automatic size")
	f.named = registerSchema(flags, &f.o.Run)
	f.data = dataFlags(flags)
	flags.UintSliceVar(&f.seeds, "seeds", []uint{0}, "seeds of everything random; figures are means over them")
	flags.StringSliceVar(&f.o.Calibrations, "calibrations",
		[]string{propagation.None, propagation.Labels, propagation.Errors},
		"none, lp (label propagation) and ep (error propagation)")
	flags.StringSliceVar(&f.o.Attachments, "attachments", nil,
		"attachments besides the one that each method is made for: joint, frozen")
	flags.BoolVar(&f.o.Ablations, "ablations", false,
		"measure learned also plain, without L_str, without L_ind and from a random M")
	f.learn = newLearnFlags(flags).studies()
	return f
}

// open reads the data set, makes its named columns positions, and completes the options.
func (f *studyFlags) open() (*dataset.Dataset, error) {
	if slices.Equal(f.o.Methods, []string{"all"}) {
		f.o.Methods = trainer.Methods(laboratory)
	}
	f.o.Seeds = nil
	for _, s := range f.seeds {
		f.o.Seeds = append(f.o.Seeds, uint64(s))
	}
	expandModels(&f.o.Run)
	if err := f.o.Validate(); err != nil {
		return nil, err
	}
	f.o.Run.Seed = f.o.Seeds[0] // for the schema; each run has its own
	if err := f.named.apply(&f.o.Run); err != nil {
		return nil, err
	}
	d, err := opened(f.data)
	if err != nil {
		return nil, err
	}
	collectForSize()
	f.fingerprint = d.Fingerprint()
	if d, f.o.Run.Keep, err = features.Encode(d, f.o.Run.Keep, f.o.Run.Schema); err != nil {
		return nil, err
	}
	d = d.MoveOriginalFirst()
	f.o.Learned, err = f.learn.settings(d, f.o.Methods)
	f.o.Traced = func(run trainer.Options, l *methods.Course) {
		f.curves = append(f.curves, newCurves(run, l, len(d.Classes)))
	}
	return d, err
}

func evalCommand() *cobra.Command {
	var asJSON bool
	var csvFile, markdownFile string
	cmd := &cobra.Command{
		Use:   "eval --data DIR",
		Short: "Measure methods and models on the test nodes: accuracy, time, memory",
		Long: "eval measures each method x {O->O, O->S, S->O, S->S} x {graph, node} batches x {none, lp, ep}\n" +
			"on the test nodes, over seeds and sizes, and writes a table. It writes no artifact. Whole, O->O, is timed\n" +
			"over the full graph and over the batch's two-hop neighbourhood. cached are T's own tables, 2C+1 numbers a\n" +
			"node. Rivals without S: logreg and mlp read an arrival's own features, glnn is an mlp taught by the model,\n" +
			"evidence adds the classes of known neighbours, a byte a node.\n\n" +
			"With --missing-edges test nodes lose shares of their edges.",
		Args: cobra.NoArgs,
		Example: "  trainer eval --preset small --nodes 40 --methods solved,vng,random --seeds 0,1,2\n" +
			"  trainer eval --preset small --methods solved,cached,logreg,mlp,glnn,evidence --calibrations none\n" +
			"  trainer eval --preset flickr --ratios 0.001,0.005 --calibrations none --json",
	}
	f := newStudyFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print one JSON object and nothing else to standard output")
	flags.StringVar(&csvFile, "csv", "", "file to write the table to as CSV")
	flags.StringVar(&markdownFile, "markdown", "", "file to write the table to as Markdown")
	missing := missingFlag(flags)
	for _, table := range []string{"csv", "markdown"} {
		cmd.MarkFlagsMutuallyExclusive("missing-edges", table)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		// before the work begins
		if err := errors.Join(cli.TryFile("csv", csvFile), cli.TryFile("markdown", markdownFile)); err != nil {
			return err
		}
		if *missing != nil {
			return f.missingEdges(cmd, *missing, asJSON)
		}
		d, results, err := f.results(cmd)
		if err != nil {
			return err
		}
		if err := writeFiles(results, map[string]func(io.Writer, []eval.Result) error{csvFile: eval.WriteCSV,
			markdownFile: eval.WriteMarkdown}); err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(measurements{d.Name, f.fingerprint, strings.Join(os.Args, " "),
				f.o.Run.Batch, d.Classes, cli.PeakBytes(), results, f.curves})
		}
		if err := eval.WriteTable(cmd.OutOrStdout(), results); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s%s, seeds %v, batches of %d, %.0f MB at most\n", eval.Legend, d.Name,
			f.o.Seeds, f.o.Run.Batch, float64(cli.PeakBytes())/1e6)
		return err
	}
	return cmd
}

// results makes the measurements.
func (f *studyFlags) results(cmd *cobra.Command) (*dataset.Dataset, []eval.Result, error) {
	d, err := f.open()
	if err != nil {
		return nil, nil, err
	}
	f.leaveOut(d.Task, cmd.Flags())
	results, err := study.Run(cmd.Context(), d, f.o, cli.Stderr())
	return d, results, err
}

// leaveOut turns off defaults that a task does not have. A flag that is given stays.
func (f *studyFlags) leaveOut(task target.Task, flags *pflag.FlagSet) {
	if !flags.Changed("calibrations") && !task.Can(target.Propagation) {
		f.o.Calibrations = nil
	}
	f.o.Run.Spread = f.o.Run.Spread && (task.Can(target.Spread) || flags.Changed("spread"))
}

// writeFiles writes results to files by a function for each form; a file without a name is left out.
func writeFiles(results []eval.Result, forms map[string]func(io.Writer, []eval.Result) error) error {
	for name, write := range forms {
		if name == "" {
			continue
		}
		var text bytes.Buffer
		if err := write(&text, results); err != nil {
			return err
		}
		if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
