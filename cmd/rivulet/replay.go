package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/dataset"
	"rivulet/event/read"
	"rivulet/infer/target"
	"rivulet/internal/cli/dataflag"
	"rivulet/internal/logs"
	"rivulet/internal/replay"
	"rivulet/run/connect"
)

// chunk is the largest number of arrivals that a replay sends at once.
const chunk = 1000

// replayFlags select the arrivals of a replay, and their form.
type replayFlags struct {
	replay.Options
	which, out, labels, format string
	bare, apart                bool
	edges                      string // topic
}

// stream returns the nodes to send, as arrivals.
func (f *replayFlags) stream(d *dataset.Dataset, nodes []int32) replay.Stream {
	s := replay.Nodes(d, nodes)
	if f.bare {
		return s.Without()
	}
	return s
}

func replayCommand() *cobra.Command {
	f := &replayFlags{Options: replay.Options{Chunk: chunk}}
	cmd := &cobra.Command{
		Use:   "replay --data DIR [--out FILE|-]",
		Short: "Send a data set's test nodes as arrivals to Kafka, or write them as JSON lines",
		Long: "replay sends nodes of a data set as arrivals, in their order, to Kafka or as JSON lines to a file. A\n" +
			"refresh never trains on test nodes: for arrivals that it merges, withhold training nodes (generate\n" +
			"--withhold) and send them with --which withheld and their classes with --labels. --kafka.topics.arrivals\n" +
			"accounts --edges-topic transfers sends nodes and edges as two tables.",
		Args: cobra.NoArgs,
		Example: "  rivulet replay --preset small --kafka.brokers localhost:9092 --rate 500\n" +
			"  trainer train --preset small --out out/small\n" +
			"  rivulet replay --preset small --out - | rivulet predict --artifact out/small\n" +
			"  rivulet generate --withhold 0.2 --out out/data\n" +
			"  rivulet replay --data out/data --which withheld --labels labels",
	}
	flags := cmd.Flags()
	flags.StringVar(&f.which, "which", whichTest, whichUsage)
	flags.StringVar(&f.which, "nodes", whichTest, "the same as --which")
	data := dataflag.Register(flags, "")
	flags.StringVar(&f.out, "out", "", "write JSON lines to this file, or - for standard output, instead of Kafka")
	flags.StringVar(&f.labels, "labels", "",
		"topic (with --out, file) to which the nodes' classes are written after the arrivals; empty: none")
	flags.StringVar(&f.format, "record-format", "json",
		"form of the records in Kafka, json or protobuf; lines are JSON")
	flags.BoolVar(&f.bare, "without-features", false,
		"leave the features out, for consumers that look them up (features put)")
	flags.BoolVar(&f.apart, "edges-apart", false,
		"send edges as records of their own, mixed with up to 1000 arrivals, for consumers with attach.wait")
	flags.StringVar(&f.edges, "edges-topic", "",
		"send edges as records of their own to this topic, without keys, as rows of a table of edges come")
	flags.Float64Var(&f.Rate, "rate", 0, "arrivals a second; 0: as fast as Kafka takes them")
	flags.IntVar(&f.Limit, "limit", 0, "stop after this many arrivals; 0: all of the nodes")
	config.Flags[config.Replay](flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		d, err := data.Open("")
		if err == nil && f.labels != "" {
			err = d.Task.Require(target.SendLabels)
		}
		if err != nil {
			return err
		}
		nodes, err := chosen(d, f.which)
		if err != nil {
			return err
		}
		if f.which == whichUnlabelled && f.labels != "" {
			return errors.New("--labels is given, and the nodes of --which unlabelled have none")
		}
		if f.out != "" {
			return f.toLines(cmd, d, nodes)
		}
		return f.toTopic(cmd, d, nodes)
	}
	return cmd
}

// Values of --which.
const (
	whichTest       = "test"
	whichWithheld   = "withheld"
	whichUnlabelled = "unlabelled"

	whichUsage = "which nodes: test; withheld: labelled nodes that are left out of the split; or unlabelled"
)

// chosen returns the nodes of a data set that --which names.
func chosen(d *dataset.Dataset, which string) (nodes []int32, err error) {
	switch which {
	case whichTest:
		return d.Test, nil
	case whichWithheld:
		if nodes = d.Withheld(); len(nodes) == 0 {
			return nil, fmt.Errorf("--which is withheld, and every node of %s that has a class is in a role: generate "+
				"--withhold "+
				"leaves some in none", d.Name)
		}
	case whichUnlabelled:
		if nodes = d.Unlabelled; len(nodes) == 0 {
			return nil, fmt.Errorf("--which is unlabelled, and every node of %s has a label", d.Name)
		}
	default:
		return nil, fmt.Errorf("--which is %q, want test, withheld or unlabelled", which)
	}
	return nodes, nil
}

func (f *replayFlags) check() error {
	f.apart = f.apart || f.edges != ""
	switch {
	case f.Rate < 0 || f.Limit < 0:
		return fmt.Errorf("--rate is %g and --limit %d, want 0 or more", f.Rate, f.Limit)
	case f.apart && f.out != "":
		return fmt.Errorf("--edges-apart or --edges-topic is given, and a line has no header that tells an edge from an " +
			"arrival: want no --out")
	case f.out != "" && f.format != "json":
		return fmt.Errorf("--record-format is %s, and lines, which --out asks for, are JSON", f.format)
	}
	if _, ok := read.Lookup(f.format); !ok {
		return fmt.Errorf("--record-format is %q, want json or protobuf", f.format)
	}
	return nil
}

// toTopic sends the nodes to Kafka, of the settings.
func (f *replayFlags) toTopic(cmd *cobra.Command, d *dataset.Dataset, nodes []int32) error {
	cfg, err := config.Load[config.Replay](config.OfProgram(cmd.Flags()))
	if err != nil {
		return err
	}
	topics := []string{cfg.Kafka.Topics.Arrivals}
	for _, more := range []string{f.labels, f.edges} {
		if more != "" {
			topics = append(topics, more)
		}
	}
	client, err := connect.Kafka(cfg.Kafka.Brokers, topics...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := connect.Reach(cmd.Context(), cfg.Kafka.Brokers, client, topics...); err != nil {
		return err
	}
	log := logs.PlainLogger(os.Stderr)
	codec, _ := read.Lookup(f.format) // it was checked
	var sinks []*replay.Topic
	for _, name := range topics {
		sink, err := replay.NewTopic(client, name, cfg.Kafka.Compression, log)
		if err != nil {
			return err
		}
		sink.In(codec)
		sinks = append(sinks, sink)
	}
	if f.apart {
		var edges *replay.Topic
		if f.edges != "" {
			edges = sinks[len(sinks)-1]
		}
		sinks[0].Apart(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)), edges)
	}
	n, err := replay.Replay(cmd.Context(), f.stream(d, nodes), sinks[0], f.Options)
	fmt.Fprintf(cmd.ErrOrStderr(), "%d arrivals sent to topic %s\n", n, topics[0])
	if err != nil || f.labels == "" {
		return err
	}
	for part := range slices.Chunk(nodes[:n], chunk) {
		if err := sinks[1].SendLabels(cmd.Context(), replay.Labels(d, part, time.Now())); err != nil {
			return err
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%d labels sent to topic %s\n", n, f.labels)
	return nil
}

// toLines writes the nodes to a file, and their classes to another.
func (f *replayFlags) toLines(cmd *cobra.Command, d *dataset.Dataset, nodes []int32) error {
	n := 0
	err := toLines(cmd.OutOrStdout(), f.out, func(w io.Writer) (err error) {
		n, err = replay.Replay(cmd.Context(), f.stream(d, nodes), &replay.Lines{W: w}, f.Options)
		return err
	})
	if err != nil || f.labels == "" {
		return err
	}
	return toLines(cmd.OutOrStdout(), f.labels, func(w io.Writer) error {
		return (&replay.Lines{W: w}).SendLabels(cmd.Context(), replay.Labels(d, nodes[:n], time.Now()))
	})
}

// toLines opens a file, or standard output for -, for write, and closes it.
func toLines(stdout io.Writer, out string, write func(io.Writer) error) error {
	if out == "-" {
		return write(stdout)
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
