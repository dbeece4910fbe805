package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rivulet/dataset/parquet"
	"rivulet/infer"
	"rivulet/internal/dataflag"
	"rivulet/internal/progress"
	"rivulet/internal/usage"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

// study is what eval --json prints.
type study struct {
	Data        string        `json:"data"`
	Fingerprint string        `json:"fingerprint"`
	Command     string        `json:"command"`
	PeakBytes   int64         `json:"peak_bytes"` // of the process's memory
	Results     []eval.Result `json:"results"`
}

func evalCommand() *cobra.Command {
	o := trainer.StudyOptions{Run: trainer.Defaults(), Methods: []string{trainer.MethodSolved}, Seeds: []uint64{0}}
	var asJSON bool
	var csvFile, markdownFile string
	var seeds []uint
	cmd := &cobra.Command{
		Use:   "eval --data DIR",
		Short: "Measure methods and models on the test nodes: accuracy, time, memory",
		Long: "eval measures each method x {O->O, O->S, S->O, S->S} x {graph, node} batches x {none, lp, ep} on the test nodes, over\n" +
			"seeds and sizes, and writes a table. It writes no artifact. Whole, O->O, is timed over the full graph and over the\n" +
			"batch's two-hop neighbourhood.",
		Args: cobra.NoArgs,
		Example: "  trainer eval --data ../shared/data/cora --nodes 70 --methods solved,learned,vng,random --seeds 0,1,2\n" +
			"  trainer eval --preset flickr --ratios 0.001,0.005 --calibrations none --json",
	}
	flags := cmd.Flags()
	data := dataflag.Register(flags, "", parquet.Format)
	flags.StringSliceVar(&o.Methods, "methods", o.Methods, "methods to measure, or all: "+strings.Join(trainer.Methods(), ", "))
	runFlags(flags, &o.Run)
	flags.Float64SliceVar(&o.Ratios, "ratios", nil, "synthetic nodes as shares of the original graph's")
	flags.IntSliceVar(&o.Nodes, "nodes", nil, "numbers of synthetic nodes, instead of --ratios; neither: one automatic size")
	flags.UintSliceVar(&seeds, "seeds", []uint{0}, "seeds of everything random; figures are means over them")
	flags.StringSliceVar(&o.Calibrations, "calibrations", []string{infer.PropagateNone, infer.PropagateLabels, infer.PropagateErrors}, "none, lp (label propagation) and ep (error propagation)")
	flags.StringSliceVar(&o.Attachments, "attachments", nil, "attachments besides the one that each method is made for: joint, frozen")
	flags.BoolVar(&o.Ablations, "ablations", false, "measure learned also plain, without L_str, without L_ind and from a random M")
	learn := newLearnFlags(flags)
	flags.BoolVar(&asJSON, "json", false, "print one JSON object and nothing else to standard output")
	flags.StringVar(&csvFile, "csv", "", "file to write the table to as CSV")
	flags.StringVar(&markdownFile, "markdown", "", "file to write the table to as Markdown")
	cmd.MarkFlagsMutuallyExclusive("ratios", "nodes")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if slices.Equal(o.Methods, []string{"all"}) {
			o.Methods = trainer.Methods()
		}
		o.Seeds = nil
		for _, s := range seeds {
			o.Seeds = append(o.Seeds, uint64(s))
		}
		if err := o.Validate(); err != nil {
			return err
		}
		d, err := data.Open("")
		if err != nil {
			return err
		}
		if err := learn.apply(&o.Run, d, o.Methods); err != nil {
			return err
		}
		results, err := trainer.Study(cmd.Context(), d, o, progress.Stderr())
		if err != nil {
			return err
		}
		if err := writeFiles(results, map[string]func(io.Writer, []eval.Result) error{csvFile: eval.WriteCSV, markdownFile: eval.WriteMarkdown}); err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(study{d.Name, d.Fingerprint(), strings.Join(os.Args, " "), usage.PeakBytes(), results})
		}
		if err := eval.WriteTable(cmd.OutOrStdout(), results); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s, seeds %v, batches of %d, %.0f MB at most\n", d.Name, o.Seeds, o.Run.Batch, float64(usage.PeakBytes())/1e6)
		return err
	}
	return cmd
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
