package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/artifact"
	"rivulet/artifact/signature"
	"rivulet/config"
	"rivulet/consumer"
	"rivulet/internal/cli"
	"rivulet/internal/cli/dataflag"
	"rivulet/internal/logs"
	"rivulet/internal/refresh"
	"rivulet/run"
	"rivulet/run/connect"
	"rivulet/trainer"
	"rivulet/trainer/merge"
)

// refreshFlags holds the flags of refresh besides its settings.
type refreshFlags struct {
	from, labels, group string
	forget              string
	out, dataOut        string
	current             string
	publish             bool
	sign                string
	keep, keepCopies    int
	waiting, rounds     int
	maxDrop             float64
	every               time.Duration
	asJSON              bool
	refit, update       bool
	run                 trainer.Options
	named               *schemaFlags
	withMap             *mapFlags
	flags               *pflag.FlagSet
}

func refreshCommand() *cobra.Command {
	f := &refreshFlags{run: trainer.Defaults()}
	f.run.Costs = false // a refresh compares accuracies
	cmd := &cobra.Command{
		Use:   "refresh --from FILE|kafka:TOPIC --data DIR --out DIR",
		Short: "Train anew on the graph with the nodes that arrived, and publish if that is no worse",
		Long: "refresh merges arrivals, and labels if they are known, into the data set's training graph, trains as train\n" +
			"does, and compares the accuracy on the validation nodes with that of the artifact that serves now:\n" +
			"--current, or with --publish the version that CURRENT names in Redis. Both answer the same nodes as they\n" +
			"would on the stream. If the new one is more than --max-drop points worse, the artifact is stored but not\n" +
			"published, and the command fails.\n" +
			"Options that are not given are taken from that artifact's run (not --representation and --weight-decays).\n" +
			"Arrivals and labels are JSON lines in a file, or records of a topic, read to the end that it has at the\n" +
			"start. Arrivals are taken by the consumers' rules: give the limits.* and input.* of theirs.\n\n" +
			"With --every the command goes on until it is stopped, each refresh in a directory of its own below --out and\n" +
			"--data-out. Started again with the same flags it goes on from the newest graph in --data-out, and publishes\n" +
			"what was not published. --rounds 1 does one such refresh, for a scheduler such as cron, and fails if that\n" +
			"fails.\n" +
			"With --group only the arrivals after those that the graph has are read. The group's offsets follow the\n" +
			"graph's, are committed last, and belong to no consumer: a group that consumers use is refused.",
		Args: cobra.NoArgs,
		Example: "  rivulet generate --preset small --withhold 0.2 --out out/data\n" +
			"  trainer train --data out/data --out out/small\n" +
			"  rivulet replay --data out/data --which withheld --out arrivals.jsonl --labels labels.jsonl\n" +
			"  trainer refresh --from arrivals.jsonl --labels labels.jsonl --data out/data --current out/small \\\n" +
			"    --out out/small-2\n" +
			"  trainer refresh --from kafka:arrivals --labels kafka:labels --group refresh --data out/data \\\n" +
			"    --out out/refreshed --data-out out/grown --publish --every 1h",
	}
	flags := cmd.Flags()
	f.flags = flags
	flags.StringVar(&f.from, "from", "", "arrivals: a file of JSON lines, or kafka: and a topic (required)")
	flags.StringVar(&f.labels, "labels", "",
		"labels: a file of JSON lines, or kafka: and a topic, which is always read whole; empty: none")
	flags.StringVar(&f.group, "group", "",
		"group of this refresh's own: only arrivals are read that the graph does not have, and its offsets show how far; "+
			"empty: all are read")
	flags.StringVar(&f.forget, "forget", "",
		"file of ids, one a line, whose nodes and edges leave the graph, whenever they came; empty: none but those that "+
			"the stream asks to forget (input.forget)")
	flags.BoolVar(&f.update, "update-features", false,
		"a node that arrives again gets the features of its last record, also a node of the graph; otherwise its first "+
			"ones stay")
	flags.StringVar(&f.out, "out", "", "directory to write the artifact to (required)")
	flags.StringVar(&f.dataOut, "data-out", "",
		"directory to write the graph with its arrivals to, for the next refresh or train; empty: it is not kept")
	flags.StringVar(&f.current, "current", "",
		"directory of the artifact to compare with; empty: the one that CURRENT names, with --publish")
	flags.BoolVar(&f.publish, "publish", false, "publish the artifact to Redis and point CURRENT at it")
	flags.StringVar(&f.sign, "sign", "", "with --publish: PEM file of a private key of Ed25519 that signs the manifest")
	flags.IntVar(&f.keep, "keep", 1, "older versions to keep for rolling back; -1: all")
	flags.IntVar(&f.keepCopies, "keep-copies", 2,
		"newest graphs and artifacts of --every to keep on the disk, besides those in use; -1: all")
	flags.IntVar(&f.waiting, "waiting", merge.DefaultWaiting,
		"edges to ids that have not arrived that are kept with the graph; 0: none")
	flags.Float64Var(&f.maxDrop, "max-drop", refresh.MaxDrop,
		"points of accuracy on the validation nodes that the new artifact may be worse")
	flags.BoolVar(&f.refit, "refit-schema", false,
		"fit the schema of named features anew, with what has arrived: positions move, so producers by position must follow")
	flags.DurationVar(&f.every, "every", 0, "refresh again this long after the last one ended; 0: once")
	flags.IntVar(&f.rounds, "rounds", 0,
		"end after so many refreshes, each in a directory of its own below --out and --data-out; 0: as --every says")
	flags.StringVar(&f.run.Method, "method", f.run.Method, "condensation method")
	runFlags(flags, &f.run)
	sizeFlags(cmd, &f.run)
	f.named = registerSchema(flags, &f.run)
	data := dataFlags(flags)
	flags.Float64Var(&f.run.Coverage, "coverage", 0, "share of arrivals to answer; 0: none are marked as abstained")
	flags.BoolVar(&f.run.Representation, "representation", false,
		representationUsage)
	registerKinds(flags, &f.run)
	f.withMap = registerMap(flags, &f.run)
	flags.Uint64Var(&f.run.Seed, "seed", 0, "seed of everything random")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object a refresh and nothing else to standard output")
	config.Flags[config.Refresh](flags)
	config.Alias(flags, map[string]string{"redis": "redis.url"})
	_ = cmd.MarkFlagRequired("from")
	_ = cmd.MarkFlagRequired("out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load[config.Refresh](config.OfProgram(cmd.Flags()))
		if err != nil {
			return err
		}
		if err := errors.Join(f.check(), f.named.apply(&f.run)); err != nil {
			return err
		}
		given, err := f.given(data)
		if err != nil {
			return err
		}
		log := logs.PlainLogger(cmd.ErrOrStderr())
		r, err := f.refresher(given, cfg, cli.Stderr(), log)
		if err != nil {
			return err
		}
		store, end, err := connect.Features(cfg.Features, cfg.Redis, cfg.Limits)
		if err != nil {
			return err
		}
		defer end()
		r.Features = store
		if r.Forget, err = f.ids(); err != nil {
			return err
		}
		report := func(o *refresh.Report) error { return f.report(cmd.OutOrStdout(), o) }
		if f.every == 0 && f.rounds == 0 {
			o, err := f.once(cmd.Context(), r)
			return errors.Join(report(o), err)
		}
		return f.repeat(cmd.Context(), r, consumer.SystemClock{}, report)
	}
	return cmd
}

// given returns the graph of the data set.
func (f *refreshFlags) given(data *dataflag.Data) (*refresh.Graph, error) {
	d, err := opened(data)
	if err != nil {
		return nil, err
	}
	return refresh.NewGraph(data.Dir, d)
}

func (f *refreshFlags) check() error {
	switch {
	case !(f.maxDrop >= 0):
		return fmt.Errorf("--max-drop is %g, want 0 or more", f.maxDrop)
	case f.every < 0:
		return fmt.Errorf("--every is %s, want 0 or more", f.every)
	case f.rounds < 0:
		return fmt.Errorf("--rounds is %d, want 0 or more", f.rounds)
	case f.sign != "" && !f.publish:
		return errors.New("--sign is given without --publish: a version is signed where it is published")
	case f.keep == 0 || f.keep < -1:
		return fmt.Errorf("--keep is %d, want 1 or more, or -1 for all", f.keep)
	case f.keepCopies == 0 || f.keepCopies < -1:
		return fmt.Errorf("--keep-copies is %d, want 1 or more, or -1 for all", f.keepCopies)
	case f.waiting < 0:
		return fmt.Errorf("--waiting is %d, want 0 or more", f.waiting)
	}
	from, _, err := f.sources()
	if err != nil {
		return err
	}
	if f.group != "" && from.Topic == "" {
		return fmt.Errorf("--group is %s, but --from %s is not a topic", f.group, f.from)
	}
	if f.group != "" && f.dataOut == "" {
		return fmt.Errorf("--group is %s without --data-out: the arrivals before its offsets would be lost to the next "+
			"refresh",
			f.group)
	}
	if err := errors.Join(cli.TryDirectory("out", f.out), cli.TryDirectory("data-out", f.dataOut)); err != nil {
		return err
	}
	if f.every > 0 || f.rounds > 0 || refresh.Stored(f.dataOut) {
		return nil // each refresh has directories of its own; there is no more to write
	}
	return errors.Join(artifact.CheckTarget(f.out), refresh.CheckTarget(f.dataOut))
}

// ids returns the ids of --forget.
func (f *refreshFlags) ids() (ids []string, err error) {
	if f.forget == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.forget)
	if err != nil {
		return nil, fmt.Errorf("--forget: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if id := strings.TrimRight(line, "\r\n"); id != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("--forget: %s has no ids, want one a line", f.forget)
	}
	return ids, nil
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

// refresher returns the refresher that flags and settings ask for.
func (f *refreshFlags) refresher(given *refresh.Graph, cfg config.Refresh, progress trainer.Progress,
	log *slog.Logger) (*refresh.Refresher, error) {
	arrivals, labels, err := f.sources()
	if err != nil {
		return nil, err
	}
	forms, known, err := run.Forms(cfg.Input, cfg.Registry)
	if err != nil {
		return nil, err
	}
	check := func(ctx context.Context, outcome *trainer.Outcome) error {
		warnings, err := answered(ctx, outcome, run.Limits(cfg.Limits))
		for _, warning := range warnings {
			log.Warn("consumers will refuse arrivals", "reason", warning)
		}
		return err
	}
	var key ed25519.PrivateKey
	if f.sign != "" {
		if key, err = signature.PrivateKeyOf(f.sign); err != nil {
			return nil, fmt.Errorf("--sign %s: %w", f.sign, err)
		}
	}
	return &refresh.Refresher{Sign: key, Graph: given, Arrivals: arrivals, Labels: labels,
		Current: f.current,
		ToRedis: f.publish, Keep: f.keep, Services: connect.Services{Brokers: cfg.Kafka.Brokers, Server: cfg.Redis, Log: log},
		Forms: forms, Registry: known, Limits: run.Limits(cfg.Limits), Check: check, RefitSchema: f.refit,
		IgnoreUnknown: cfg.Input.UnknownFeatures == config.Ignore, Waiting: f.waiting, UpdateFeatures: f.update,
		MaxDrop: f.maxDrop, Options: f.options,
		Progress: progress, Log: log, Now: time.Now}, nil
}

// options returns the options of the artifact that serves, changed by the flags that were given.
func (f *refreshFlags) options(current *artifact.Manifest) (trainer.Options, error) {
	o := f.run
	if current == nil {
		o.Choose = expandModels(&o)
		return o, errors.Join(o.Validate(), f.withMap.apply(&o))
	}
	inherited := *current
	if f.flags.Changed("method") {
		inherited.Method = o.Method
	}
	was, err := trainer.Inherit(&inherited, laboratory)
	if err != nil {
		return o, err
	}
	said := o
	o = was
	o.WeightDecays, o.Representation, o.Batch, o.Costs, o.Schema = said.WeightDecays, said.Representation,
		said.Batch, said.Costs, said.Schema
	for name, set := range map[string]func(){
		"models": func() { o.Models = said.Models; o.Choose = expandModels(&o) },
		"own":    func() { o.Own = said.Own }, "hidden": func() { o.Hidden = said.Hidden },
		"entries": func() { o.Entries = said.Entries }, "preprocess": func() { o.Preprocess = said.Preprocess },
		"coverage":  func() { o.Coverage = said.Coverage },
		"propagate": func() { o.Propagate = said.Propagate }, "map": func() { o.Map = said.Map },
		"seed": func() { o.Seed = said.Seed }, "ratio": func() { o.Ratio, o.Nodes = said.Ratio, 0 },
		"nodes": func() { o.Nodes, o.Ratio = said.Nodes, 0 },
	} {
		if f.flags.Changed(name) && (name != "nodes" || dataflag.Own(f.flags)) {
			set()
		}
	}
	return o, errors.Join(o.Validate(), f.withMap.apply(&o))
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

// once makes an artifact and publishes it. If --data-out holds the graph of these arrivals already, because an earlier
// run was killed after it had stored it, it only publishes and commits. A nil report means that nothing was done.
func (f *refreshFlags) once(ctx context.Context, r *refresh.Refresher) (*refresh.Report, error) {
	if !refresh.Stored(f.dataOut) {
		return r.Next(ctx, f.out, f.dataOut)
	}
	graph, err := r.Graph.Resume(f.dataOut)
	if err != nil {
		return nil, err
	}
	r.Graph = graph
	o, err := r.Finish(ctx)
	r.Log.Info("--data-out holds the graph of an earlier run: what that had left undone is done, and nothing was read; "+
		"for newer arrivals give it as --data, and other directories", "data-out", f.dataOut, "left", o != nil)
	return o, err
}

// repeat refreshes repeatedly until ctx ends or --rounds are done, from the newest graph below --data-out on. A refresh
// that fails is logged; the next one does its undone steps, or reads the same arrivals. The error of the last one is
// returned.
func (f *refreshFlags) repeat(ctx context.Context, r *refresh.Refresher, clock consumer.Clock,
	report func(*refresh.Report) error) error {
	given := r.Graph.Dir
	copies := &refresh.Copies{Artifacts: f.out, Graphs: f.dataOut, Keep: f.keepCopies, Disk: r.Disk}
	unlock, err := copies.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.resume(r, copies); err != nil {
		return err
	}
	for round := 1; ctx.Err() == nil; round++ {
		out, dataOut := copies.Next(r.Now())
		o, err := r.Next(ctx, out, dataOut)
		switch {
		case errors.As(err, new(*refresh.Stopped)):
			r.Log.Info(err.Error())
		case err != nil:
			r.Log.Error("refresh failed", "error", err)
		default:
			f.prune(ctx, r, copies, given)
		}
		if round == f.rounds {
			return errors.Join(report(o), err)
		}
		if err := report(o); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		fired, stop := clock.NewTimer(f.every)
		select {
		case <-fired:
		case <-ctx.Done():
			r.Log.Info("stopped between two refreshes: all that was read is stored")
		}
		stop()
	}
	return nil
}

// resume goes on from the newest graph of earlier runs.
func (f *refreshFlags) resume(r *refresh.Refresher, copies *refresh.Copies) error {
	dirs, err := copies.Dirs()
	if err != nil {
		return err
	}
	graph, err := r.Graph.Resume(dirs...)
	if err != nil || graph == r.Graph {
		return err
	}
	r.Graph = graph
	if r.Current != "" {
		r.Current = graph.Artifact()
	}
	r.Log.Info("going on from an earlier refresh", "graph", graph.Dir, "artifact", graph.State.Version, "nodes",
		graph.NodesOfT())
	return nil
}

// prune removes old copies; that it fails is no reason to end.
func (f *refreshFlags) prune(ctx context.Context, r *refresh.Refresher, copies *refresh.Copies, given string) {
	removed, err := r.Prune(ctx, copies, given, f.current)
	if len(removed) > 0 {
		r.Log.Info("removed old copies", "directories", removed)
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("old copies were not removed", "error", err)
	}
}
