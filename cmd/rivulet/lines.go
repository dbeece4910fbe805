package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
	"rivulet/internal/cli"
	"rivulet/internal/logs"
	"rivulet/run"
	"rivulet/run/connect"
	"rivulet/serving"
)

// lineFlags are the flags that predict and explain share: which model answers, and how JSON lines are read.
type lineFlags struct {
	cfg    config.Consumer // with the consumer's own defaults, so that the same arrivals get the same predictions
	choice serving.Options
}

func newLineFlags(cmd *cobra.Command) *lineFlags {
	f := &lineFlags{cfg: config.Default[config.Consumer]()}
	flags := cmd.Flags()
	flags.StringVar(&f.cfg.Artifact, "artifact", "", "directory of the artifact (required)")
	flags.StringVar(&f.choice.Model, "model", "", "model to serve, one of the artifact's; empty: its default")
	flags.StringVar(&f.choice.Attachment, "attachment", serving.Auto, "auto, frozen or joint")
	flags.StringVar(&f.choice.Calibration, "calibration", serving.Auto,
		"propagation after the model: "+propagation.Choices("auto"))
	flags.StringVar(&f.cfg.Batch.Mode, "mode", f.cfg.Batch.Mode,
		"node: each arrival on its own; graph: edges among the arrivals of a batch count too")
	flags.IntVar(&f.cfg.Batch.Size, "batch", f.cfg.Batch.Size, "lines of a batch")
	config.Flags[config.Lines](flags)
	config.Alias(flags, map[string]string{"edges": "limits.edges"})
	_ = cmd.MarkFlagRequired("artifact")
	return f
}

// open checks the flags, and returns the artifact's version and how lines are read, until end. Lines that are refused
// are reported on standard error.
func (f *lineFlags) open(cmd *cobra.Command) (versions consumer.Versions, o run.LineOptions, end func(), err error) {
	mode, err := attach.ModeOf(f.cfg.Batch.Mode)
	if err != nil {
		return nil, o, nil, fmt.Errorf("--mode: %w", err)
	}
	o = run.LineOptions{Mode: mode, Batch: f.cfg.Batch.Size,
		Rejected: func(line int64, d *event.DeadLetter) {
			fmt.Fprintf(cmd.ErrOrStderr(), "line %d: %s: %s\n", line, d.Reason, cli.Text(d.Detail))
		}}
	if o.Batch < 1 {
		return nil, o, nil, fmt.Errorf("--batch is %d, want at least 1", o.Batch)
	}
	lines, err := config.Load[config.Lines](config.OfProgram(cmd.Flags()))
	if err != nil {
		return nil, o, nil, err
	}
	if o.Forms, err = run.LineForms(lines.Input); err != nil {
		return nil, o, nil, err
	}
	o.Limits = run.Limits(lines.Limits)
	o.IgnoreUnknown = lines.Input.UnknownFeatures == config.Ignore
	if versions, err = run.Pinned(cmd.Context(), f.cfg.Artifact, f.choice, logs.PlainLogger(os.Stderr)); err != nil {
		return nil, o, nil, err
	}
	o.Features, end, err = connect.Features(lines.Features, lines.Redis, lines.Limits)
	return versions, o, end, err
}
