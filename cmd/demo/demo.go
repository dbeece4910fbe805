// Command demo shows the whole stream in one process, on services that are embedded in it. It is a program of its own:
// somebody who has just cloned the repository compiles nothing else. It reads CSV and GraphSAINT arrays, and knows no
// Parquet, schema registry, bucket or login.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/internal/cli"
	"rivulet/internal/cli/dataflag"
	"rivulet/internal/demo"
	"rivulet/internal/help"
	"rivulet/internal/logs"
	"rivulet/trainer"
)

// demoPreset is the generated graph of a demo without data.
const demoPreset = "small"

// demoFlags are the flags of the demo.
type demoFlags struct {
	demo.Options
	artifact, mode     string
	grow, page, asJSON bool
	data               *dataflag.Data
}

func main() { cli.Main(command()) }

func command() *cobra.Command {
	f := &demoFlags{Options: demo.Options{Train: trainer.Defaults(), Batch: 256}}
	f.Train.Costs = false // the demo measures the stream
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the main job on services embedded in this process",
		Long: "demo trains on a data set, publishes the artifact to an embedded Redis, starts an embedded Kafka broker\n" +
			"and the consumer, streams the test nodes as arrivals, reads the predictions topic, and compares with the\n" +
			"whole graph. With --artifact it serves an artifact of these data instead of training one.\n" +
			"In node mode the arrivals are sent within 3 s, so that latency is that of an arrival and not of a queue:\n" +
			"--rate 0 sends them as fast as Kafka takes them, which shows throughput.\n" +
			"With --grow half of the training nodes are withheld and arrive with the test nodes, in a random order,\n" +
			"each with its edges to the nodes of the original graph and to earlier arrivals, which get rows of M\n" +
			"(attach.arrivals). The table compares with the same artifact without such rows.",
		Args: cobra.NoArgs,
		Example: "  go run ./cmd/demo\n  go run ./cmd/demo --preset small --mode graph --batch 64\n" +
			"  go run ./cmd/demo --preset flickr --json\n" +
			"  go run ./cmd/demo --data shop --artifact out/shop --model gcn\n" +
			"  go run ./cmd/demo --grow\n  go run ./cmd/demo --page",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.register(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("ratio", "artifact")
	cmd.MarkFlagsMutuallyExclusive("seed", "artifact")
	cmd.MarkFlagsMutuallyExclusive("grow", "artifact")
	cmd.MarkFlagsMutuallyExclusive("grow", "page")
	help.Install(cmd)
	return cmd
}

func (f *demoFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.artifact, "artifact", "",
		"directory of an artifact of the same data, to serve instead of training one")
	flags.StringVar(&f.Model, "model", "", "model of --artifact to serve; empty: its default")
	flags.StringVar(&f.mode, "mode", attach.Node.Name,
		"node: each arrival is predicted on its own; graph: edges among the arrivals of a micro-batch count too")
	flags.IntVar(&f.Batch, "batch", f.Batch, "most arrivals of a micro-batch")
	flags.Float64Var(&f.Rate, "rate", 0, "arrivals a second; 0: as fast as Kafka takes them, so that they queue there; "+
		"not given: so that the stream takes 3 s, with --grow 15 s, and 0 in graph mode, whose batches are then full")
	flags.BoolVar(&f.grow, "grow", false, "withhold half of the training nodes, and measure accuracy and unknown "+
		"neighbours as they and the test nodes arrive, with rows of M for arrivals and without")
	flags.BoolVar(&f.page, "page", false,
		"serve the live page beside the stream, print its address, and after the stream send arrivals on, "+
			"20 a second unless --rate says otherwise, until it is stopped")
	flags.IntVar(&f.Train.Nodes, "nodes", 0, "synthetic nodes; 0: by --ratio")
	f.data = dataflag.Register(flags, demoPreset)
	flags.Float64Var(&f.Train.Ratio, "ratio", 0,
		"synthetic nodes as a share of the original graph's; 0: 1%, but ten a class (and type of edges) if the labels allow")
	flags.Uint64Var(&f.Train.Seed, "seed", 0, "seed of the training, and of the stream of --grow")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else to standard output")
}

// check returns an error for options that do not go together.
func (f *demoFlags) check(flags *pflag.FlagSet) (err error) {
	if f.Mode, err = attach.ModeOf(f.mode); err != nil {
		return fmt.Errorf("--mode: %w", err)
	}
	switch {
	case f.Batch < 1:
		return fmt.Errorf("--batch is %d, want at least 1", f.Batch)
	case f.Rate < 0:
		return fmt.Errorf("--rate is %g, want 0 or more", f.Rate)
	case f.grow && !f.Mode.Repeatable():
		return fmt.Errorf("--mode is %s, and --grow compares batches whose arrivals do not see each other: --mode %s",
			f.Mode, attach.Node)
	case dataflag.Own(flags) && f.artifact != "":
		return fmt.Errorf("--nodes is %d, which is for a training, and --artifact is given", f.Train.Nodes)
	case f.Model != "" && f.artifact == "":
		return fmt.Errorf("--model is %s, which is for --artifact", f.Model)
	}
	return f.Train.Validate()
}

func (f *demoFlags) run(cmd *cobra.Command) error {
	err := f.check(cmd.Flags())
	if err != nil {
		return err
	}
	if f.artifact != "" {
		if f.Artifact, err = artifact.ReadAll(f.artifact); err != nil {
			return err
		}
	}
	if f.Log, _, err = logs.NewLogger("warn", "text", os.Stderr); err != nil {
		return err
	}
	f.Progress = cli.Stderr()
	d, err := f.open()
	if err != nil {
		return err
	}
	if f.grow {
		report, err := demo.Grow(cmd.Context(), d, f.Options)
		if err != nil {
			return err
		}
		return f.print(cmd, report, report.Delivery)
	}
	f.LaterRate = f.Rate
	if !cmd.Flags().Changed("rate") && f.Mode.Repeatable() {
		f.Rate = demo.EasyRate(d)
	}
	show := func(r *demo.Report) error { return f.print(cmd, r, r.Delivery) }
	if f.page {
		return f.withPage(cmd.Context(), d, show)
	}
	report, err := demo.Run(cmd.Context(), d, f.Options)
	if err != nil {
		return err
	}
	return show(report)
}

// open reads or generates the data set, and says how large it is.
func (f *demoFlags) open() (*dataset.Dataset, error) {
	d, err := f.data.Open(demoPreset)
	if err != nil {
		return nil, err
	}
	if err := d.Task.Require(target.Demo); err != nil {
		return nil, err
	}
	features := len(d.Columns)
	if d.Columns == nil {
		features = d.X.Cols()
	}
	fmt.Fprintf(os.Stderr, "%s: %d nodes, of which the model is trained on %d and %d arrive, %d edges, %d features, "+
		"%d classes; embedded Kafka and Redis\n", d.Name, len(d.IDs), len(d.Train)+len(d.Unlabelled), len(d.Test),
		d.Adj.NNZ()/2, features, len(d.Classes))
	return d, nil
}

// withPage runs the demo with the live page, until it is stopped.
func (f *demoFlags) withPage(ctx context.Context, d *dataset.Dataset, show func(*demo.Report) error) error {
	f.Train.Map = true
	return demo.Page(ctx, d, f.Options, func(url, kafka, redis string) {
		fmt.Fprintf(os.Stderr, "the live page: %s (Kafka %s, Redis %s)\n", url, kafka, redis)
	}, show)
}

// print prints a report; missing arrivals are an error.
func (f *demoFlags) print(cmd *cobra.Command, report interface{ Print(io.Writer) error }, of demo.Delivery) error {
	var err error
	if f.asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = report.Print(cmd.OutOrStdout())
	}
	if of.Missing > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d arrivals were not predicted", of.Missing, of.Arrivals))
	}
	return err
}
