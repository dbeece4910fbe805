package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/config"
	"rivulet/dataset"
	"rivulet/dataset/table"
	"rivulet/infer"
	"rivulet/internal/cli"
	"rivulet/internal/cli/dataflag"
	"rivulet/trainer"
	"rivulet/trainer/original"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/solved"
)

// Values of --engine and --sums.
const (
	engineMemory = "memory"
	engineDisk   = "disk"
	sumsFloat    = "float"
	sumsFixed    = "fixed"
)

// engineFlags say where a training run's tables lie and how sums over nodes are made.
type engineFlags struct {
	engine, sums, memory, work string
	subgraph                   string // empty: the command has no such flag, as it fits nothing
	spark                      sparkFlags
	flags                      *pflag.FlagSet
	// weights reads the models that are imported; nil: none are.
	weights func(features, classes int) (map[string]infer.Model, error)
}

func newEngineFlags(flags *pflag.FlagSet) *engineFlags {
	f := &engineFlags{flags: flags}
	flags.StringVar(&f.engine, "engine", engineMemory,
		"where the graph lies while training: memory; disk, by stages over files of --work; or spark")
	flags.StringVar(&f.sums, "sums", sumsFloat,
		"of engine memory: float, or fixed, by stages that give the bits of the other engines")
	flags.StringVar(&f.memory, "memory", "2GiB", "of engine disk: memory of the process, as the runtime counts it")
	flags.StringVar(&f.work, "work", "",
		"of engines disk and spark: directory of its tables, in which a run that was broken off goes on; empty: that of "+
			"--out with .work; for spark a path that its machines see")
	f.spark.register(flags)
	return f
}

// subgraphFlag is the name of the flag of [engineFlags.fits].
const subgraphFlag = "subgraph"

// fits adds the flag of commands that fit models.
func (f *engineFlags) fits() *engineFlags {
	f.flags.StringVar(&f.subgraph, subgraphFlag, "128MiB",
		"by stages: memory of the features and edges of the subgraph in which models other than an sgc of two hops are "+
			"fitted")
	return f
}

// staged reports whether the run is one of stages.
func (f *engineFlags) staged() bool { return f.engine != engineMemory || f.sums != sumsFloat }

// check returns an error for options that a run with these flags cannot have, and turns off the defaults among them.
func (f *engineFlags) check(o *trainer.Options, out string) error {
	if err := f.checkFlags(out); err != nil || !f.staged() {
		return err
	}
	return f.checkOptions(o)
}

// checkOptions is check for the options alone.
func (f *engineFlags) checkOptions(o *trainer.Options) error {
	if f.subgraph != "" {
		n, err := config.ParseBytes(f.subgraph)
		if err == nil && n == 0 {
			err = errors.New("want more than 0")
		}
		if err != nil {
			return fmt.Errorf("--%s is %q: %w", subgraphFlag, f.subgraph, err)
		}
		o.Subgraph = int64(n)
	}
	return trainer.CheckStaged(*o)
}

// checkFlags is check for the flags alone.
func (f *engineFlags) checkFlags(out string) error {
	switch {
	case f.engine != engineMemory && f.engine != engineDisk && f.engine != engineSpark:
		return fmt.Errorf("--engine is %q, want %s, %s or %s", f.engine, engineMemory, engineDisk, engineSpark)
	case f.engine != engineSpark && f.spark.given(f.flags):
		return fmt.Errorf("--spark, --spark-sql and --partitions are for --engine %s", engineSpark)
	case f.engine == engineSpark && f.work == "":
		return fmt.Errorf("--engine %s: want --work, a directory that all of Spark's machines see, such as hdfs://… or "+
			"s3a://…",
			engineSpark)
	case f.engine == engineSpark && f.flags.Changed("memory"):
		return fmt.Errorf("--memory is for --engine %s", engineDisk)
	case f.sums != sumsFloat && f.sums != sumsFixed:
		return fmt.Errorf("--sums is %q, want %s or %s", f.sums, sumsFloat, sumsFixed)
	case f.engine != engineMemory && f.flags.Changed("sums") && f.sums == sumsFloat:
		return fmt.Errorf("--sums is %s: those of engine %s are always %s", sumsFloat, f.engine, sumsFixed)
	case !f.staged() && f.subgraph != "" && f.flags.Changed(subgraphFlag):
		return fmt.Errorf("--%s is for runs of stages: --engine %s, --engine %s or --sums %s", subgraphFlag, engineDisk,
			engineSpark, sumsFixed)
	case f.engine == engineMemory && (f.flags.Changed("memory") || f.flags.Changed("work")):
		return fmt.Errorf("--memory and --work are for --engine %s", engineDisk)
	case !f.staged():
		return nil
	}
	if _, err := f.bytes(); err != nil {
		return err
	}
	if f.engine == engineSpark {
		if err := f.spark.check(); err != nil {
			return err
		}
	}
	if f.work == "" {
		f.work = out + ".work"
	}
	return nil
}

// fewestBytes leave room for a block and for the run's own part of the graph.
const fewestBytes = 256 << 20

func (f *engineFlags) bytes() (int64, error) {
	n, err := config.ParseBytes(f.memory)
	if err == nil && n < fewestBytes {
		err = fmt.Errorf("want %s or more", config.Bytes(fewestBytes))
	}
	if err != nil {
		return 0, fmt.Errorf("--memory is %q: %w", f.memory, err)
	}
	return int64(n), nil
}

// open returns the engine, and a function that closes it.
func (f *engineFlags) open(ctx context.Context, progress trainer.Progress) (stage.Engine, func() error, error) {
	if f.engine == engineSpark {
		return f.spark.open(ctx, f.work, progress)
	}
	if f.engine == engineMemory {
		return local.NewMemory(solved.Functions, progress), func() error { return nil }, nil
	}
	n, err := f.bytes()
	if err != nil {
		return nil, nil, err
	}
	e, err := local.Open(solved.Functions, f.work, n/2, progress)
	if err != nil {
		return nil, nil, err
	}
	before := debug.SetMemoryLimit(n - n/8) // the runtime collects garbage sooner as the heap comes near
	return e, func() error {
		debug.SetMemoryLimit(before)
		return e.Close()
	}, nil
}

// train runs the stages, and keep while M can be read from their tables.
func (f *engineFlags) train(ctx context.Context, data *dataflag.Data, o trainer.Options,
	keep func(*trainer.Outcome) error) (*trainer.Outcome, error) {
	if _, _, _, err := f.byURL(data, o); err != nil { // before the engine is opened
		return nil, err
	}
	progress := cli.Stderr()
	return f.stages(ctx, progress, func(e stage.Engine) (*trainer.Outcome, error) {
		outcome, err := f.run(ctx, e, data, o, progress)
		if err == nil {
			err = keep(outcome)
		}
		return outcome, err
	})
}

// Train implements [refresh.Trainer]: it runs the stages on a graph that a refresh has merged. Their tables are
// removed afterwards: the next graph has others.
func (f *engineFlags) Train(ctx context.Context, d *dataset.Dataset, o trainer.Options,
	now time.Time) (*trainer.Outcome, error) {
	if err := f.checkOptions(&o); err != nil {
		return nil, err
	}
	rows, err := trainer.StagedOf(d, o)
	if err != nil {
		return nil, err
	}
	var outcome *trainer.Outcome
	err = f.TrainRows(ctx, rows, o, now, func(made *trainer.Outcome) error {
		outcome = made
		return made.Bundle.LoadMapping() // from the engine's tables; the graph is in memory, too
	})
	if err != nil {
		return nil, err
	}
	return outcome, nil
}

// TrainRows implements [refresh.Trainer]: [engineFlags.Train] for a graph of tables, whose M need not be in memory.
func (f *engineFlags) TrainRows(ctx context.Context, rows original.RowData, o trainer.Options, now time.Time,
	keep func(*trainer.Outcome) error) error {
	if err := f.checkOptions(&o); err != nil {
		return err
	}
	progress := cli.Stderr()
	_, err := f.stages(ctx, progress, func(e stage.Engine) (*trainer.Outcome, error) {
		outcome, err := trainer.TrainStaged(ctx, e, rows, o, now, progress)
		if err == nil {
			err = keep(outcome)
		}
		return outcome, err
	})
	if err != nil {
		return err
	}
	return f.clean(ctx)
}

// clean removes the tables of a run that ended well.
func (f *engineFlags) clean(ctx context.Context) error {
	switch f.engine {
	case engineDisk:
		return local.Clean(f.work)
	case engineSpark:
		return f.spark.clean(ctx, f.work)
	}
	return nil
}

// stages runs something on the engine, which is closed afterwards.
func (f *engineFlags) stages(ctx context.Context, progress trainer.Progress,
	run func(e stage.Engine) (*trainer.Outcome, error)) (*trainer.Outcome, error) {
	e, closing, err := f.open(ctx, progress)
	if err != nil {
		return nil, err
	}
	outcome, err := run(e)
	if errors.Is(err, errNoSpace) {
		err = fmt.Errorf("%w: make room, and give the same command again; finished stages are kept in %s", err, f.work)
	}
	return outcome, errors.Join(err, closing())
}

func (f *engineFlags) run(ctx context.Context, e stage.Engine, data *dataflag.Data, o trainer.Options,
	progress trainer.Progress) (*trainer.Outcome, error) {
	rows, err := f.rows(ctx, e, data, o)
	if err != nil {
		return nil, err
	}
	rows.Weights = f.weights
	outcome, err := trainer.TrainStaged(ctx, e, rows, o, time.Now(), progress)
	if err == nil && outcome.Unknown > 0 {
		fmt.Fprintf(data.Notes, "%s: %d edges to or from ids that no node has were dropped.\n", rows.Name, outcome.Unknown)
		if kept := outcome.Bundle.Manifest.Data.Edges; outcome.Unknown > int64(kept) {
			err = data.Warn(rows.Name, []string{fmt.Sprintf(
				"more edges are to or from ids that no node has, %d, than between nodes of T, %d: "+
					"are both tables of one graph?", outcome.Unknown, kept)})
		}
	}
	return outcome, err
}

// rows are the data set's rows: of tables by URL in place, of tables in files from the files, of others from memory.
func (f *engineFlags) rows(ctx context.Context, e stage.Engine, data *dataflag.Data,
	o trainer.Options) (original.RowData, error) {
	tables, name, ok, err := f.byURL(data, o)
	if err != nil {
		return original.RowData{}, err
	}
	if ok {
		return original.InPlace(ctx, e, name, tables)
	}
	stream, ok, err := data.Stream()
	if err != nil {
		return original.RowData{}, err
	}
	if ok {
		return original.OfStream(stream), nil
	}
	d, err := opened(data)
	if err != nil {
		return original.RowData{}, err
	}
	f.sayWhole(d)
	return trainer.StagedOf(d, o)
}

// sayWhole says that a data set was not read row by row.
func (f *engineFlags) sayWhole(d *dataset.Dataset) {
	if f.engine == engineDisk {
		fmt.Fprintf(os.Stderr, "%s is read as a whole, within --memory or not: only tables whose features are numbers, "+
			"with a split, are read row by row\n", d.Name)
	}
}

// byURL returns the tables that are named by URL, which Spark reads where they lie, and the name of their data set;
// false if none are. An error names the flag that such tables do not have.
func (f *engineFlags) byURL(data *dataflag.Data, o trainer.Options) (table.Settings, string, bool, error) {
	tables, name, ok, err := data.ByURL()
	if err != nil || !ok {
		return tables, name, false, err
	}
	if f.engine != engineSpark {
		return tables, name, false, fmt.Errorf(
			"--engine is %s, and only --engine %s reads tables by URL, such as %s: otherwise want the path of a file", f.engine,
			engineSpark, tables.Nodes)
	}
	for _, flag := range append([]string{"split-seed"}, schemaNames...) {
		if given := f.flags.Lookup(flag); given != nil && given.Changed {
			return tables, name, false, fmt.Errorf("--%s is given: tables by URL have a column split, and features by position",
				flag)
		}
	}
	if o.Keep != nil {
		return tables, name, false, errors.New(
			"the artifact has features by name, and tables by URL have features by position: want the paths of files")
	}
	return tables, name, true, original.CheckInPlace(tables)
}

func cleanCommand() *cobra.Command {
	var f sparkFlags
	cmd := &cobra.Command{
		Use:     "clean DIR",
		Short:   "Remove the tables that training with --engine disk or spark left in its --work directory",
		Args:    cobra.ExactArgs(1),
		Example: "  trainer clean out/small.work",
	}
	cmd.Flags().StringVar(&f.address, "spark", "",
		"the directory is one of engine spark: a Spark Connect server, as of trainer train")
	cmd.Flags().StringVar(&f.program, "spark-sql", "", "in place of --spark, the program spark-sql")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.address == "" && f.program == "" {
			return local.Clean(args[0])
		}
		f.partitions = 1
		return f.clean(cmd.Context(), args[0])
	}
	return cmd
}
