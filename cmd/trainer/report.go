package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/dataset"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
	"rivulet/internal/cli"
	"rivulet/lab/methods"
	page "rivulet/lab/report"
	"rivulet/lab/study"
	"rivulet/trainer"
)

// Parts of a report that need runs of their own besides the results.
const (
	partLearned     = "learned"
	partSparsity    = "sparsity"
	partSensitivity = "sensitivity"
	partNone        = "none"
)

var parts = []string{partLearned, partSparsity, partSensitivity}

// reportFlags holds the flags of report beside a study's.
type reportFlags struct {
	*studyFlags
	out, title, results string
	parts               []string
	sweeps
}

func reportCommand() *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report --out FILE (--data DIR | --results FILE)",
		Short: "Draw results, losses, M, time and memory as one HTML page",
		Long: "report measures like eval and writes one HTML page with plots, which needs no other file and no network:\n" +
			"accuracy against ratio (give several --ratios or --nodes), time and memory, confusion matrix, reliability of\n" +
			"probabilities. Its parts take runs of their own, at the first size, seed and model: learned (the method\n" +
			"learned from a class-aware and a random M: its losses, its M by classes, its accuracy over δ), sparsity (the\n" +
			"method solved at each --k) and sensitivity (the method learned at each --lambda-values and --beta-values,\n" +
			"for --sweep-rounds). --results draws the output of an earlier eval --json; without --data no further runs\n" +
			"are made.",
		Args: cobra.NoArgs,
		Example: "  trainer report --preset small --nodes 20,40 --methods solved,vng,random --out out/small.html\n" +
			"  trainer eval --preset small --json > small.json && trainer report --results small.json --out small.html",
	}
	f.studyFlags = newStudyFlags(cmd, []string{trainer.MethodSolved, methods.Learned, trainer.MethodCached},
		[]string{propagation.None})
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "file to write the page to (required)")
	flags.StringVar(&f.title, "title", "", "title of the page; empty: the name of the data")
	flags.StringVar(&f.results, "results", "", "file with the output of eval --json, instead of measuring")
	flags.StringSliceVar(&f.parts, "parts", parts, "parts to run: "+strings.Join(parts, ", ")+"; or none")
	flags.IntSliceVar(&f.k, "k", []int{1, 2, 4, 8, 16}, "part sparsity: most entries of a row of the solved M")
	grid := []float64{0, 0.01, 0.1, 1, 10, 100, 1000}
	flags.Float64SliceVar(&f.lambda, "lambda-values", grid, "part sensitivity: values of λ")
	flags.Float64SliceVar(&f.beta, "beta-values", grid, "part sensitivity: values of β")
	flags.IntVar(&f.rounds, "sweep-rounds", 10, "part sensitivity: outer rounds at each value")
	_ = cmd.MarkFlagRequired("out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(flags); err != nil {
			return err
		}
		p, err := f.page(cmd.Context(), flags)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := page.Write(&text, p); err != nil {
			return err
		}
		if err := os.WriteFile(f.out, text.Bytes(), 0o644); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d rows of results, %.1f MB\n", f.out, len(p.Results),
			float64(text.Len())/1e6)
		return err
	}
	return cmd
}

// check finds wrong flags before the work begins.
func (f *reportFlags) check(flags *pflag.FlagSet) error {
	if info, err := os.Stat(filepath.Dir(f.out)); err != nil || !info.IsDir() {
		return fmt.Errorf("--out is %s, but %s is not a directory", f.out, filepath.Dir(f.out))
	}
	if err := cli.TryFile("out", f.out); err != nil {
		return err
	}
	hasData := f.data.Dir != "" || f.data.Preset != ""
	if f.results == "" && !hasData {
		return errors.New("nothing to draw: give --data DIR, --preset NAME or --results FILE")
	}
	if f.results != "" && !hasData {
		if flags.Changed("parts") && !slices.Equal(f.parts, []string{partNone}) {
			return fmt.Errorf("--parts is %s, which needs --data", strings.Join(f.parts, ","))
		}
		f.parts = nil
	}
	if f.results != "" && flags.Changed("methods") {
		return fmt.Errorf("both --results %s and --methods %s are given, want one", f.results, strings.Join(f.o.Methods, ","))
	}
	if slices.Equal(f.parts, []string{partNone}) {
		f.parts = nil
	}
	for k, name := range f.parts {
		if !slices.Contains(parts, name) {
			return fmt.Errorf("parts[%d] is %q, want %s, or none alone", k, name, strings.Join(parts, ", "))
		}
	}
	return f.sweeps.check()
}

// page measures the figures of the page.
func (f *reportFlags) page(ctx context.Context, flags *pflag.FlagSet) (*page.Page, error) {
	p := &page.Page{Title: f.title, Command: strings.Join(append([]string{filepath.Base(os.Args[0])},
		os.Args[1:]...), " ")}
	if f.results != "" {
		if err := readResults(f.results, p); err != nil {
			return nil, fmt.Errorf("reading --results: %w", err)
		}
	}
	if f.data.Dir != "" || f.data.Preset != "" {
		d, err := f.open(f.trained())
		if err == nil {
			err = f.forTask(d, flags)
		}
		if err != nil {
			return nil, err
		}
		if f.results != "" && p.Data.Fingerprint != f.fingerprint {
			return nil, fmt.Errorf("--results %s are of data with fingerprint %q, the data set has %q", f.results,
				p.Data.Fingerprint, f.fingerprint)
		}
		p.Options = append(p.Options, optionsOf(flags)...)
		describe(p, d, f.fingerprint)
		if err := f.measure(ctx, d, p); err != nil {
			return nil, err
		}
	}
	if p.Title == "" {
		p.Title = "Condensation of " + p.Data.Name
	}
	return p, nil
}

// forTask turns off defaults that are for classes alone where the task is another one, and refuses such flags.
func (f *reportFlags) forTask(d *dataset.Dataset, flags *pflag.FlagSet) error {
	if d.Task == target.Classes {
		return nil
	}
	f.leaveOutClasses(flags)
	if !flags.Changed("methods") {
		f.o.Methods = []string{trainer.MethodSolved, trainer.MethodCached}
	}
	if flags.Changed("parts") && len(f.parts) > 0 {
		return d.Task.Require("a part of the report (--parts)")
	}
	f.parts = nil
	return nil
}

// measure makes the runs that are wanted and not in a file.
func (f *reportFlags) measure(ctx context.Context, d *dataset.Dataset, p *page.Page) error {
	f.sweeps.start(d, f.o, cli.Stderr())
	if f.results == "" {
		o := f.o
		o.Traced = f.keep
		results, err := study.Run(ctx, d, o, f.progress)
		if err != nil {
			return err
		}
		p.Batch, p.Results = o.Run.Batch, results
	}
	for _, part := range f.parts {
		run := map[string]func(context.Context, *page.Page) error{
			partLearned: f.learned, partSparsity: f.sparsity, partSensitivity: f.sensitivity}[part]
		if err := run(ctx, p); err != nil {
			return fmt.Errorf("part %s: %w", part, err)
		}
	}
	f.draw(p)
	return nil
}

// trained returns the methods that the parts run, whose options may be given.
func (f *reportFlags) trained() []string {
	if slices.Contains(f.parts, partLearned) || slices.Contains(f.parts, partSensitivity) {
		return []string{methods.Learned}
	}
	return nil
}

// readResults reads the output of eval --json.
func readResults(file string, p *page.Page) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s measurements
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(s.Results) == 0 {
		return fmt.Errorf("%s: results is empty", file)
	}
	p.Data = page.Data{Name: s.Data, Fingerprint: s.Fingerprint, Classes: len(s.Classes)}
	p.Batch, p.Classes, p.Results = s.Batch, s.Classes, s.Results
	if s.Command != "" {
		p.Options = append(p.Options, page.Option{Name: "command of the results", Value: s.Command})
	}
	return nil
}

// describe sets the page's description of the data.
func describe(p *page.Page, d *dataset.Dataset, fingerprint string) {
	original := d.Original()
	p.Classes = d.Classes
	p.Data = page.Data{Name: d.Name, Fingerprint: fingerprint, Nodes: original.Adj.Rows, Edges: original.Adj.NNZ() / 2,
		Features: original.X.Cols(), Classes: len(d.Classes), Test: len(d.Test)}
}

// optionsOf returns the values of all flags that have one, given or not, except those without meaning for the page.
func optionsOf(flags *pflag.FlagSet) []page.Option {
	var out []page.Option
	flags.VisitAll(func(f *pflag.Flag) {
		value := strings.Trim(f.Value.String(), "[]")
		if numbers, err := flags.GetFloat64Slice(f.Name); err == nil { // its String has six decimals
			value = strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]")
		}
		if strings.HasPrefix(f.Name, "search-") && !flags.Changed("search") {
			return
		}
		if value != "" && value != "false" && !slices.Contains([]string{"help", "out", "title", "results"}, f.Name) {
			out = append(out, page.Option{Name: f.Name, Value: value})
		}
	})
	return out
}
