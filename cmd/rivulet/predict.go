package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/infer/target"
	"rivulet/internal/replay"
	"rivulet/run"
	"rivulet/serving"
)

func predictCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "predict --artifact DIR < arrivals.jsonl > predictions.jsonl",
		Short: "Predict arrivals from JSON lines without any service, for backfills and for trying an artifact",
		Long: "predict follows the consumer's path from decoding to prediction, with M read from the artifact. A line\n" +
			"that cannot be predicted is reported on standard error with the reason, the others are predicted, and the\n" +
			"exit status is 1. Lines of another shape are mapped as the consumer maps records: give its input.* here,\n" +
			"or its file with --config. Predictions have no keys here, so input.mapping.key is only checked.",
		Args: cobra.NoArgs,
		Example: "  trainer train --preset small --out out/small\n" +
			"  rivulet replay --preset small --out arrivals.jsonl\n" +
			"  rivulet predict --artifact out/small < arrivals.jsonl > predictions.jsonl\n" +
			"  rivulet predict --artifact out/shop --data shop --which unlabelled > predictions.jsonl\n" +
			"  rivulet predict --artifact out/small --top-k 3 --input.mapping.preset debezium < changes.jsonl",
	}
	f := newLineFlags(cmd)
	flags, cfg := cmd.Flags(), &f.cfg
	var dir, which string
	flags.StringVar(&dir, "data", "", "directory of a data set whose nodes are predicted, in place of lines of "+
		"standard input")
	flags.StringVar(&which, "which", whichUnlabelled, "with --data, "+whichUsage)
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
			f.choice.Capabilities = append(f.choice.Capabilities, target.ListFlag)
		}
		if cfg.Output.Probabilities {
			f.choice.Capabilities = append(f.choice.Capabilities, target.RowFlag)
		}
		in := cmd.InOrStdin()
		if dir != "" {
			lines, err := nodesAsLines(cmd.Context(), dir, which)
			if err != nil {
				return err
			}
			defer func() { _ = lines.Close() }()
			in = lines
		} else if flags.Changed("which") {
			return errors.New("--which names nodes of a data set: give its directory, --data DIR")
		}
		versions, o, end, err := f.open(cmd)
		if err != nil {
			return err
		}
		defer end()
		o.Output = consumer.Output{TopK: cfg.Output.TopK, Probabilities: cfg.Output.Probabilities, Logits: cfg.Output.Logits,
			Representation: f.choice.Representation}
		predicted, rejected, err := run.PredictLines(cmd.Context(), versions, in, cmd.OutOrStdout(), o)
		if err == nil && rejected > 0 {
			err = fmt.Errorf("%d of %d lines could not be predicted", rejected, predicted+rejected)
		}
		return err
	}
	return cmd
}

// nodesAsLines returns nodes of a data set as the lines that replay writes of them.
func nodesAsLines(ctx context.Context, dir, which string) (io.ReadCloser, error) {
	d, err := dataset.Open(dir, dataset.OpenOptions{SplitSeed: 1})
	if err != nil {
		return nil, err
	}
	nodes, err := chosen(d, which)
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	go func() {
		_, err := replay.Replay(ctx, replay.Nodes(d, nodes), &replay.Lines{W: in}, replay.Options{Chunk: chunk})
		_ = in.CloseWithError(err)
	}()
	return out, nil
}
