package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"rivulet/consumer"
	"rivulet/internal/app"
	"rivulet/internal/batchfile"
	"rivulet/schema"
	"rivulet/serving"
)

func predictCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "predict --artifact DIR < arrivals.jsonl > predictions.jsonl",
		Short: "Predict arrivals from JSON lines or a table without any service, for backfills and for trying an artifact",
		Long: "predict follows the consumer's path from decoding to prediction, with M read from the artifact. A line\n" +
			"that cannot be predicted is reported on standard error with the reason, the others are predicted, and the\n" +
			"exit status is 1. Lines of another shape are mapped as the consumer maps records: give its input.* here,\n" +
			"or its file with --config. Predictions have no keys here, so input.mapping.key is only checked.\n\n" +
			"--in reads a table, CSV or Parquet, with a row for each arrival: the columns id, edges (ids as JSON text,\n" +
			"or with spaces between them), weights, incoming, types, time, and the features as one list in a column\n" +
			"features, or as columns of their own.\n" +
			"--out writes JSON lines, CSV or Parquet.",
		Args: cobra.NoArgs,
		Example: "  trainer train --preset small --out out/small\n" +
			"  rivulet replay --preset small --out arrivals.jsonl\n" +
			"  rivulet predict --artifact out/small < arrivals.jsonl > predictions.jsonl\n" +
			"  rivulet predict --artifact out/small --in arrivals.parquet --out predictions.parquet\n" +
			"  rivulet predict --artifact out/small --top-k 3 --input.mapping.preset debezium < changes.jsonl",
	}
	f := newLineFlags(cmd)
	flags, cfg := cmd.Flags(), &f.cfg
	var in, out string
	flags.StringVar(&in, "in", "-", "file of arrivals: .jsonl, .csv or .parquet; -: JSON lines of standard input")
	flags.StringVar(&out, "out", "-", "file of predictions: .jsonl, .csv or .parquet; -: JSON lines on standard output")
	flags.IntVar(&cfg.Output.TopK, "top-k", 0,
		"how many of the most probable classes a prediction lists; of links, of the best candidates, 0: 10")
	flags.BoolVar(&cfg.Output.Probabilities, "probabilities", false, "add the probabilities of all classes")
	flags.BoolVar(&cfg.Output.Logits, "logits", false, "add the model's raw output")
	flags.StringVar(&f.choice.Representation, "representation", serving.RepresentNone,
		"add none, logits or embedding, the layer before the classifier")
	flags.Float64Var(&f.choice.Coverage, "coverage", 0,
		"share of the arrivals to answer, others are marked as abstained; 0: none is marked")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cfg.Output.TopK > 0 {
			f.choice.Capabilities = append(f.choice.Capabilities, "--top-k")
		}
		if cfg.Output.Probabilities {
			f.choice.Capabilities = append(f.choice.Capabilities, "--probabilities")
		}
		versions, o, end, err := f.open(cmd)
		if err != nil {
			return err
		}
		defer end()
		o.Output = consumer.Output{TopK: cfg.Output.TopK, Probabilities: cfg.Output.Probabilities, Logits: cfg.Output.Logits,
			Representation: f.choice.Representation}
		form, err := batchfile.FormOf(out)
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		lines, closeIn, err := openArrivals(cmd, versions, in, &o)
		if err != nil {
			return err
		}
		defer closeIn()
		return toLines(cmd.OutOrStdout(), out, func(w io.Writer) error {
			file, err := newWriter(w, form)
			if err != nil {
				return err
			}
			predicted, rejected, err := app.PredictLines(cmd.Context(), versions, lines, file, o)
			if err == nil && rejected > 0 {
				err = fmt.Errorf("%d of %d lines could not be predicted", rejected, predicted+rejected)
			}
			return err
		})
	}
	return cmd
}

// newWriter returns a writer of predictions.
func newWriter(w io.Writer, form batchfile.Form) (app.PredictionWriter, error) {
	if form == batchfile.Lines {
		return app.NewLineWriter(w), nil
	}
	return batchfile.NewWriter(w, form)
}

// openArrivals opens a file of lines, or has the options name a table.
func openArrivals(cmd *cobra.Command, versions consumer.Versions, in string,
	o *app.LineOptions) (lines io.Reader, end func(), err error) {
	form, err := batchfile.FormOf(in)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("--in: %w", err)
	case form != batchfile.Lines && o.Forms.Mapping != nil:
		return nil, nil, fmt.Errorf(
			"--in is %s, a table, and input.mapping is about JSON lines: name the columns as predict's help says",
			in)
	case form != batchfile.Lines:
		var s *schema.Schema
		if named, ok := versions.Current().(interface{ Schema() *schema.Schema }); ok {
			s = named.Schema()
		}
		o.Rows = func(use func(int, []byte) error) error { return batchfile.Each(in, s, use) }
	case in != "-":
		f, err := os.Open(in)
		return f, func() { _ = f.Close() }, err
	}
	return cmd.InOrStdin(), func() {}, nil
}
