package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/internal/app"
	"rivulet/serving"
)

func predictCommand() *cobra.Command {
	// The consumer's own defaults, so that the same arrivals get the same predictions.
	cfg := config.Default[config.Consumer]()
	cmd := &cobra.Command{
		Use:   "predict --artifact DIR < arrivals.jsonl > predictions.jsonl",
		Short: "Predict arrivals from JSON lines without any service, for backfills and for trying an artifact",
		Long: "predict follows the consumer's path from decoding to prediction, with M read from the artifact. A line that cannot be\n" +
			"predicted is reported on standard error with the reason, the others are predicted, and the exit status is 1. Lines of\n" +
			"another shape are mapped as the consumer maps records: give its input.* here, or its file with --config. Predictions have\n" +
			"no keys here, so input.mapping.key is only checked.",
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	var choice serving.Options
	flags.StringVar(&cfg.Artifact, "artifact", "", "directory of the artifact (required)")
	flags.StringVar(&choice.Model, "model", "", "model to serve, one of the artifact's; empty: its default")
	flags.StringVar(&choice.Attachment, "attachment", serving.Auto, "auto, frozen or joint")
	flags.StringVar(&choice.Calibration, "calibration", serving.Auto,
		"propagation after the model: auto, none, lp or ep")
	flags.StringVar(&cfg.Batch.Mode, "mode", cfg.Batch.Mode,
		"node: each arrival on its own; graph: edges among the arrivals of a batch count too")
	flags.IntVar(&cfg.Batch.Size, "batch", cfg.Batch.Size, "lines of a batch")
	flags.IntVar(&cfg.Limits.Edges, "edges", cfg.Limits.Edges, "most edges of an arrival; 0: no limit")
	flags.IntVar(&cfg.Output.TopK, "top-k", 0, "how many of the most probable classes a prediction lists")
	flags.BoolVar(&cfg.Output.Probabilities, "probabilities", false, "add the probabilities of all classes")
	flags.BoolVar(&cfg.Output.Logits, "logits", false, "add the model's raw output")
	flags.StringVar(&choice.Representation, "representation", serving.RepresentNone,
		"add none, logits or embedding, the layer before the classifier")
	flags.Float64Var(&choice.Coverage, "coverage", 0, "share of the arrivals to answer, others are marked as abstained; 0: none is marked")
	config.Flags[config.Lines](flags)
	_ = cmd.MarkFlagRequired("artifact")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cfg.Batch.Size < 1 {
			return fmt.Errorf("--batch is %d, want at least 1", cfg.Batch.Size)
		}
		forms, ignore, err := lineForms(cmd)
		if err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(os.Stderr, nil))
		versions, err := app.Pinned(cfg.Artifact, choice, log)
		if err != nil {
			return err
		}
		predicted, rejected, err := app.PredictLines(cmd.Context(), versions, cmd.InOrStdin(), cmd.OutOrStdout(),
			app.LineOptions{
				Mode: consumer.Mode(cfg.Batch.Mode), Batch: cfg.Batch.Size, Forms: forms, IgnoreUnknown: ignore,
				Limits: consumer.Limits{Edges: cfg.Limits.Edges},
				Output: consumer.Output{TopK: cfg.Output.TopK, Probabilities: cfg.Output.Probabilities, Logits: cfg.Output.Logits,
					Representation: choice.Representation},
				Rejected: func(line int64, d *event.DeadLetter) {
					fmt.Fprintf(cmd.ErrOrStderr(), "line %d: %s: %s\n", line, d.Reason, d.Detail)
				}})
		if err == nil && rejected > 0 {
			err = fmt.Errorf("%d of %d lines could not be predicted", rejected, predicted+rejected)
		}
		return err
	}
	return cmd
}

// lineForms returns the forms that JSON lines have by the settings of a command, and whether features of unknown names
// are passed over.
func lineForms(cmd *cobra.Command) (forms event.Forms, ignoreUnknown bool, err error) {
	cfg, err := config.Load[config.Lines](config.Sources{Flags: cmd.Flags(), Environ: os.Environ()})
	if err != nil {
		return forms, false, err
	}
	forms, err = app.LineForms(cfg.Input)
	return forms, cfg.Input.UnknownFeatures == config.Ignore, err
}
