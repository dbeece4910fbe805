package main

import (
	"bytes"
	"context"
	"io"

	"github.com/spf13/pflag"

	"rivulet/config"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/internal/cli"
	"rivulet/internal/cli/dataflag"
	"rivulet/internal/preflight"
	"rivulet/run"
	"rivulet/trainer"
)

// usual are the consumers' limits where nothing else is set.
var usual = run.Limits(config.Default[config.Consumer]().Limits)

// dataFlags registers the flags of a data set whose nodes consumers are to predict.
func dataFlags(flags *pflag.FlagSet) *dataflag.Data {
	data := dataflag.Register(flags, "")
	data.Check = func(d *dataset.Dataset) ([]string, error) { return preflight.Limits(d, usual) }
	return data
}

// opened reads the data set that the flags name, and shows that it does. The set's notes follow.
func opened(data *dataflag.Data) (*dataset.Dataset, error) {
	const what = "reading the data set"
	var notes bytes.Buffer
	lines, to := cli.Stderr(), data.Notes
	data.Notes = &notes
	defer func() { data.Notes = to }()
	lines.Step(what, 0, 1)
	d, err := data.Open("")
	if err != nil {
		lines.Done()
		return nil, err
	}
	lines.Step(what, 1, 1)
	_, err = io.Copy(to, &notes)
	return d, err
}

// answered sends some nodes of a run through the consumers' path, before the artifact is written. It returns warnings
// about nodes that consumers refuse.
func answered(ctx context.Context, outcome *trainer.Outcome, l event.Limits) (warnings []string, err error) {
	return warnings, cli.During("sending nodes through the consumers' path", func() (err error) {
		warnings, err = preflight.Answers(ctx, outcome.Bundle, outcome.Answers, l)
		return err
	})
}
