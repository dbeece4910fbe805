package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/dataset/parquet"
	"rivulet/internal/app"
	"rivulet/internal/cli"
	"rivulet/internal/cli/dataflag"
	"rivulet/internal/refresh"
	"rivulet/trainer"
)

// refreshFlags holds the flags of refresh besides its settings.
type refreshFlags struct {
	from, labels, group string
	out, dataOut        string
	current             string
	publish             bool
	keep                int
	maxDrop             float64
	every               time.Duration
	asJSON              bool
	run                 trainer.Options
	flags               *pflag.FlagSet
}

func refreshCommand() *cobra.Command {
	f := &refreshFlags{run: trainer.Defaults()}
	f.run.Costs = false // a refresh compares accuracies
	cmd := &cobra.Command{
		Use:   "refresh --from FILE|kafka:TOPIC --data DIR --out DIR",
		Short: "Train anew on the graph with the nodes that arrived, and publish if that is no worse",
		Long: "refresh merges arrivals, and labels if they are known, into the data set's training graph, trains as train does, and\n" +
			"compares the accuracy on the validation nodes with that of the artifact that serves now: --current, or with --publish\n" +
			"the version that CURRENT names in Redis. Both answer the same nodes as they would on the stream. If the new one is\n" +
			"more than --max-drop points worse, the artifact is stored but not published, and the command fails.\n" +
			"Options that are not given are taken from that artifact's run (not --representation and --weight-decays). Arrivals and\n" +
			"labels are JSON lines in a file, or records of a topic, read from the earliest or the --group's offset to the end that\n" +
			"it has at the start. A group's offsets are committed last, and no consumer may be in that group. With --every the\n" +
			"command goes on until it is stopped, each refresh in a directory of its own below --out and --data-out.",
		Args: cobra.NoArgs,
		Example: "  trainer refresh --from arrivals.jsonl --labels labels.jsonl --data ../shared/data/cora --current out/cora --out out/cora-2\n" +
			"  trainer refresh --from kafka:arrivals --labels kafka:labels --data data --out out --data-out data-later --publish --every 1h",
	}
	flags := cmd.Flags()
	f.flags = flags
	data := dataflag.Register(flags, "", parquet.Format)
	flags.StringVar(&f.from, "from", "", "arrivals: a file of JSON lines, or kafka: and a topic (required)")
	flags.StringVar(&f.labels, "labels", "", "labels: a file of JSON lines, or kafka: and a topic, which is always read whole; empty: none")
	flags.StringVar(&f.group, "group", "", "consumer group whose offsets say which arrivals are new; empty: all are read")
	flags.StringVar(&f.out, "out", "", "directory to write the artifact to (required)")
	flags.StringVar(&f.dataOut, "data-out", "", "directory to write the data set with its arrivals to, for the next refresh or train; empty: it is not kept")
	flags.StringVar(&f.current, "current", "", "directory of the artifact to compare with; empty: the one that CURRENT names, with --publish")
	flags.BoolVar(&f.publish, "publish", false, "publish the artifact to Redis and point CURRENT at it")
	flags.IntVar(&f.keep, "keep", 1, "older versions to keep for rolling back; -1: all")
	flags.Float64Var(&f.maxDrop, "max-drop", trainer.MaxDrop, "points of accuracy on the validation nodes that the new artifact may be worse")
	flags.DurationVar(&f.every, "every", 0, "refresh again this long after the last one ended; 0: once")
	flags.StringVar(&f.run.Method, "method", f.run.Method, "condensation method")
	runFlags(flags, &f.run)
	sizeFlags(cmd, &f.run)
	flags.Float64Var(&f.run.Coverage, "coverage", 0, "share of arrivals to answer; 0: none are marked as abstained")
	flags.BoolVar(&f.run.Representation, "representation", false, "add the tables by which a frozen sgc publishes embeddings")
	flags.BoolVar(&f.run.Means, "means", f.run.Means, "add cluster means")
	flags.Uint64Var(&f.run.Seed, "seed", 0, "seed of everything random")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object a refresh and nothing else to standard output")
	config.Flags[config.Refresh](flags)
	config.Alias(flags, map[string]string{"redis": "redis.url"})
	_ = cmd.MarkFlagRequired("from")
	_ = cmd.MarkFlagRequired("out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := settings[config.Refresh](cmd)
		if err != nil {
			return err
		}
		if err := f.check(); err != nil {
			return err
		}
		d, err := data.Open("")
		if err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
		r, err := f.refresher(d, app.Services{Brokers: cfg.Kafka.Brokers, Server: cfg.Redis, Log: log}, cli.Stderr(), log)
		if err != nil {
			return err
		}
		report := func(o *refresh.Report) error { return f.report(cmd.OutOrStdout(), o) }
		if f.every == 0 {
			o, err := once(cmd.Context(), r, f.out, f.dataOut)
			return errors.Join(report(o), err)
		}
		return f.repeat(cmd.Context(), r, consumer.SystemClock{}, report)
	}
	return cmd
}

func (f *refreshFlags) check() error {
	switch {
	case !(f.maxDrop >= 0):
		return fmt.Errorf("--max-drop is %g, want 0 or more", f.maxDrop)
	case f.every < 0:
		return fmt.Errorf("--every is %s, want 0 or more", f.every)
	case f.keep == 0 || f.keep < -1:
		return fmt.Errorf("--keep is %d, want 1 or more, or -1 for all", f.keep)
	}
	from, _, err := f.sources()
	if err != nil {
		return err
	}
	if f.group != "" && from.Topic == "" {
		return fmt.Errorf("--group is %s, but --from %s is not a topic", f.group, f.from)
	}
	if f.group != "" && f.dataOut == "" {
		return fmt.Errorf("--group is %s without --data-out: the arrivals before its offsets would be lost to the next refresh", f.group)
	}
	if err := errors.Join(cli.TryDirectory("out", f.out), cli.TryDirectory("data-out", f.dataOut)); err != nil {
		return err
	}
	if f.every > 0 { // each refresh has directories of its own
		return nil
	}
	return artifact.CheckTarget(f.out)
}

// sources returns the sources of arrivals and labels.
func (f *refreshFlags) sources() (arrivals, labels refresh.Source, err error) {
	if arrivals, err = refresh.ParseSource(f.from); err != nil {
		return arrivals, labels, fmt.Errorf("--from is %q: %w", f.from, err)
	}
	arrivals.Group = f.group
	if f.labels != "" {
		if labels, err = refresh.ParseSource(f.labels); err != nil {
			return arrivals, labels, fmt.Errorf("--labels is %q: %w", f.labels, err)
		}
	}
	return arrivals, labels, nil
}

// refresher returns the refresher that the flags ask for.
func (f *refreshFlags) refresher(d *dataset.Dataset, services refresh.Services, progress trainer.Progress, log *slog.Logger,
) (*refresh.Refresher, error) {
	arrivals, labels, err := f.sources()
	return &refresh.Refresher{Data: d, Arrivals: arrivals, Labels: labels, Services: services, Current: f.current, ToRedis: f.publish, Keep: f.keep,
		MaxDrop: f.maxDrop, Options: f.options, Progress: progress, Log: log, Now: time.Now}, err
}

// options returns the options of the artifact that serves, changed by the flags that were given.
func (f *refreshFlags) options(current *artifact.Manifest) (trainer.Options, error) {
	o := f.run
	if current == nil {
		return o, o.Validate()
	}
	inherited := *current
	if f.flags.Changed("method") {
		inherited.Method = o.Method
	}
	was, err := trainer.Inherit(&inherited)
	if err != nil {
		return o, err
	}
	said := o
	o = was
	o.WeightDecays, o.Representation, o.Batch = said.WeightDecays, said.Representation, said.Batch
	for name, set := range map[string]func(){
		"models": func() { o.Models = said.Models }, "hidden": func() { o.Hidden = said.Hidden }, "entries": func() { o.Entries = said.Entries },
		"preprocess": func() { o.Preprocess = said.Preprocess }, "coverage": func() { o.Coverage = said.Coverage },
		"means": func() { o.Means = said.Means }, "seed": func() { o.Seed = said.Seed },
		"ratio": func() { o.Ratio, o.Nodes = said.Ratio, 0 }, "nodes": func() { o.Nodes, o.Ratio = said.Nodes, 0 },
	} {
		if f.flags.Changed(name) {
			set()
		}
	}
	return o, o.Validate()
}

// report prints the report of a refresh, if there is one.
func (f *refreshFlags) report(w io.Writer, o *refresh.Report) error {
	if o == nil {
		return nil
	}
	if f.asJSON {
		return json.NewEncoder(w).Encode(o)
	}
	return o.Print(w)
}

// once makes an artifact and publishes it. If there is an error, the report describes the steps before it; nil:
// nothing was read.
func once(ctx context.Context, r *refresh.Refresher, out, dataOut string) (*refresh.Report, error) {
	round, err := r.Make(ctx, out)
	if round == nil {
		return nil, err
	}
	if err == nil {
		err = r.Publish(ctx, round, dataOut)
	}
	return &round.Report, err
}

// repeat refreshes repeatedly until ctx ends. A refresh that fails is logged; the next one reads the same arrivals.
func (f *refreshFlags) repeat(ctx context.Context, r *refresh.Refresher, clock consumer.Clock, report func(*refresh.Report) error) error {
	for ctx.Err() == nil {
		name := r.Now().UTC().Format("20060102T150405.000Z")
		dataOut := ""
		if f.dataOut != "" {
			dataOut = filepath.Join(f.dataOut, name)
		}
		o, err := once(ctx, r, filepath.Join(f.out, name), dataOut)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			r.Log.Error("refresh failed", "error", err)
		}
		if err := report(o); err != nil {
			return err
		}
		fired, stop := clock.NewTimer(f.every)
		select {
		case <-fired:
		case <-ctx.Done():
		}
		stop()
	}
	return nil
}
