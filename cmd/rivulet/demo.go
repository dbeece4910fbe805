package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/dataset/parquet"
	"rivulet/internal/cli"
	"rivulet/internal/cli/dataflag"
	"rivulet/internal/demo"
	"rivulet/internal/observe"
	"rivulet/trainer"
	"rivulet/trainer/prequential"
)

func demoCommand() *cobra.Command {
	o := demo.Options{Train: trainer.Defaults(), Mode: config.ModeNode, Batch: 256, Linger: 5 * time.Millisecond,
		Partitions: 4}
	o.Train.Means = false // nobody adds a model later
	o.Train.Costs = false // the demo measures the stream
	var asJSON, grow, page, inOrder bool
	var from string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the main job on services embedded in this process",
		Long: "demo trains on a data set, publishes the artifact to an embedded Redis, starts an embedded Kafka broker\n" +
			"and the consumer, streams the test nodes as arrivals, reads the predictions topic, and compares with the\n" +
			"whole graph. With --artifact it serves an artifact of these data instead of training one.\n" +
			"In node mode the arrivals are sent within 3 s, so that latency is that of an arrival and not of a queue:\n" +
			"--rate 0 sends them as fast as Kafka takes them, which shows throughput.\n" +
			"With --grow half of the training nodes are withheld and arrive with the test nodes, in a random order,\n" +
			"each with its edges to the nodes of the original graph and to earlier arrivals. The same stream is run\n" +
			"three times: arrivals get no rows of M; they get rows (attach.arrivals); and those of the first half are\n" +
			"merged into the original graph, from which a new artifact is trained beside the stream, and takes over.\n" +
			"Labels of withheld nodes are known by then, those of test nodes never.\n" +
			"With --prequential there are no services: all nodes arrive in the order of their times, are predicted,\n" +
			"and get their labels later, as trainer eval --prequential measures it, by default on preset drift.",
		Args: cobra.NoArgs,
		Example: "  rivulet demo\n  rivulet demo --preset small --mode graph --batch 64\n" +
			"  rivulet demo --preset flickr --json\n  rivulet demo --data shop --artifact out/shop --model gcn\n" +
			"  rivulet demo --preset small --grow\n  rivulet demo --prequential",
	}
	flags := cmd.Flags()
	const fallback = "small"
	flags.StringVar(&from, "artifact", "", "directory of an artifact of the same data, to serve instead of training one")
	flags.StringVar(&o.Model, "model", "", "model of --artifact to serve; empty: its default")
	flags.StringVar(&o.Mode, "mode", o.Mode,
		"node: each arrival is predicted on its own; graph: edges among the arrivals of a micro-batch count too")
	flags.IntVar(&o.Batch, "batch", o.Batch, "most arrivals of a micro-batch")
	flags.DurationVar(&o.Linger, "linger", o.Linger, "how long the first arrival of a micro-batch waits for others")
	flags.Float64Var(&o.Rate, "rate", 0, "arrivals a second; 0: as fast as Kafka takes them, so that they queue there; "+
		"not given: so that the stream takes 3 s, with --grow 15 s to a minute, by the time of the training, and 0 in "+
		"graph mode, whose batches are then full")
	flags.BoolVar(&grow, "grow", false,
		"withhold half of the training nodes, and measure accuracy and unknown neighbours as they and the test nodes "+
			"arrive: growth off, on, and with a refresh in mid-stream; the stream waits after two thirds until the refresh is "+
			"trained, and after three quarters until it serves")
	flags.BoolVar(&inOrder, "prequential", false,
		"judge the nodes in the order of their times, without services: T and S as they were, "+
			"with growth, refreshed each chunk and by alarm")
	flags.BoolVar(&page, "page", false,
		"serve the live page beside the stream, print its address, and after the stream send arrivals on, "+
			"20 a second unless --rate says otherwise, until it is stopped")
	flags.BoolVar(&o.Labels, "labels", false,
		"publish the true class of each arrival once its prediction was read, and show the accuracy and "+
			"calibration that the consumer measures with them")
	flags.IntVar(&o.Partitions, "partitions", o.Partitions, "partitions of the topics")
	flags.IntVar(&o.Train.Nodes, "nodes", 0, "synthetic nodes; 0: by --ratio")
	data := dataflag.Register(flags, fallback, parquet.Format)
	flags.Float64Var(&o.Train.Ratio, "ratio", 0,
		"synthetic nodes as a share of the original graph's; 0: 1%, but ten a class (and type of edges) if the labels allow")
	flags.Uint64Var(&o.Train.Seed, "seed", 0, "seed of the training, and of the stream of --grow")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object and nothing else to standard output")
	cmd.MarkFlagsMutuallyExclusive("ratio", "artifact")
	cmd.MarkFlagsMutuallyExclusive("seed", "artifact")
	cmd.MarkFlagsMutuallyExclusive("grow", "artifact")
	cmd.MarkFlagsMutuallyExclusive("grow", "labels")
	cmd.MarkFlagsMutuallyExclusive("grow", "page")
	for _, other := range []string{"artifact", "grow", "labels", "page", "mode", "rate"} {
		cmd.MarkFlagsMutuallyExclusive("prequential", other)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkDemo(o); err != nil {
			return err
		}
		if grow && o.Mode != config.ModeNode {
			return fmt.Errorf("--mode is %s, and --grow compares node batches", o.Mode)
		}
		if dataflag.Own(flags) && from != "" {
			return fmt.Errorf("--nodes is %d, which is for a training, and --artifact is given", o.Train.Nodes)
		}
		if o.Model != "" && from == "" {
			return fmt.Errorf("--model is %s, which is for --artifact", o.Model)
		}
		var err error
		if from != "" {
			if o.Artifact, err = artifact.ReadAll(from); err != nil {
				return err
			}
		}
		if inOrder {
			return judgeInOrder(cmd, data, o.Train, asJSON)
		}
		if o.Log, _, err = observe.NewLogger("warn", "text", os.Stderr); err != nil {
			return err
		}
		o.Progress = cli.Stderr()
		d, err := data.Open(fallback)
		if err == nil {
			err = d.Task.Require("the demonstration")
		}
		if err != nil {
			return err
		}
		features := len(d.Columns)
		if d.Columns == nil {
			features = d.X.Cols()
		}
		fmt.Fprintf(os.Stderr, "%s: %d nodes, %d edges, %d features, %d classes; embedded Kafka and Redis\n",
			d.Name, len(d.IDs), d.Adj.NNZ()/2, features, len(d.Classes))
		if grow {
			report, err := demo.Grow(cmd.Context(), d, o)
			if err != nil {
				return err
			}
			return printed(cmd, report, asJSON, report.Lost(), len(report.Streams)*report.Arrivals)
		}
		o.LaterRate = o.Rate
		if !flags.Changed("rate") && o.Mode == config.ModeNode {
			o.Rate = demo.EasyRate(d)
		}
		if page {
			o.Train.Map = true
			return demo.Page(cmd.Context(), d, o, func(url, kafka, redis string) {
				fmt.Fprintf(os.Stderr, "the live page: %s (Kafka %s, Redis %s)\n", url, kafka, redis)
			}, func(r *demo.Report) error { return printed(cmd, r, asJSON, r.Missing, r.Arrivals) })
		}
		report, err := demo.Run(cmd.Context(), d, o)
		if err != nil {
			return err
		}
		return printed(cmd, report, asJSON, report.Missing, report.Arrivals)
	}
	return cmd
}

// judgeInOrder judges the data set, or preset drift, in the order of its nodes' times, and prints the table.
func judgeInOrder(cmd *cobra.Command, data *dataflag.Data, run trainer.Options, asJSON bool) error {
	d, err := data.Open("drift")
	if err != nil {
		return err
	}
	o := prequential.Defaults()
	o.Run = run
	r, err := prequential.Run(cmd.Context(), d, o, cli.Stderr())
	if err != nil {
		return err
	}
	return printed(cmd, r, asJSON, 0, 0)
}

// printed prints a report; missing arrivals are an error.
func printed(cmd *cobra.Command, report interface{ Print(io.Writer) error }, asJSON bool, missing, arrivals int) error {
	var err error
	if asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = report.Print(cmd.OutOrStdout())
	}
	if err == nil && missing > 0 {
		err = fmt.Errorf("%d of %d arrivals were not predicted", missing, arrivals)
	}
	return err
}

func checkDemo(o demo.Options) error {
	switch {
	case o.Mode != config.ModeNode && o.Mode != config.ModeGraph:
		return fmt.Errorf("--mode is %q, want %s or %s", o.Mode, config.ModeNode, config.ModeGraph)
	case o.Batch < 1:
		return fmt.Errorf("--batch is %d, want at least 1", o.Batch)
	case o.Linger < 0:
		return fmt.Errorf("--linger is %s, want 0 or more", o.Linger)
	case o.Rate < 0:
		return fmt.Errorf("--rate is %g, want 0 or more", o.Rate)
	case o.Partitions < 1:
		return fmt.Errorf("--partitions is %d, want at least 1", o.Partitions)
	}
	return o.Train.Validate()
}
