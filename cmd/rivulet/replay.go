package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/internal/app"
	"rivulet/internal/cli/dataflag"
	"rivulet/internal/replay"
)

// chunk is the largest number of arrivals that a replay sends at once.
const chunk = 1000

func replayCommand() *cobra.Command {
	o := replay.Options{Chunk: chunk}
	var out, format string
	cmd := &cobra.Command{
		Use:   "replay --data DIR [--out FILE|-]",
		Short: "Send a data set's test nodes as arrivals to Kafka, or write them as JSON lines",
		Args:  cobra.NoArgs,
		Example: "  rivulet replay --data ../shared/data/cora --kafka.brokers localhost:9092 --rate 500\n" +
			"  rivulet replay --data ../shared/data/cora --out - | rivulet predict --artifact out/cora",
	}
	flags := cmd.Flags()
	data := dataflag.Register(flags, "")
	flags.StringVar(&out, "out", "", "write JSON lines to this file, or - for standard output, instead of Kafka")
	flags.StringVar(&format, "record-format", "json", "form of the records in Kafka, json or protobuf; lines are JSON")
	flags.Float64Var(&o.Rate, "rate", 0, "arrivals a second; 0: as fast as Kafka takes them")
	flags.IntVar(&o.Limit, "limit", 0, "stop after this many arrivals; 0: all test nodes")
	config.Flags[config.Replay](flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Rate < 0 || o.Limit < 0 {
			return fmt.Errorf("--rate is %g and --limit %d, want 0 or more", o.Rate, o.Limit)
		}
		codec, ok := event.ForFormat(format)
		if !ok {
			return fmt.Errorf("--record-format is %q, want json or protobuf", format)
		}
		if out != "" && format != "json" {
			return fmt.Errorf("--record-format is %s, and lines, which --out asks for, are JSON", format)
		}
		d, err := data.Open("")
		if err != nil {
			return err
		}
		if out != "" {
			return toLines(cmd.OutOrStdout(), out, func(w io.Writer) error {
				_, err := replay.Replay(cmd.Context(), replay.TestNodes(d), &replay.Lines{W: w}, o)
				return err
			})
		}
		return toTopic(cmd, d, codec, o)
	}
	return cmd
}

// toTopic sends the arrivals to Kafka, of the settings.
func toTopic(cmd *cobra.Command, d *dataset.Dataset, codec event.Codec, o replay.Options) error {
	cfg, err := config.Load[config.Replay](config.Sources{Flags: cmd.Flags(), Environ: os.Environ()})
	if err != nil {
		return err
	}
	client, err := app.ConnectKafka(cfg.Kafka.Brokers, cfg.Kafka.Topics.Arrivals)
	if err != nil {
		return err
	}
	defer client.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	topic, err := replay.NewTopic(client, cfg.Kafka.Topics.Arrivals, cfg.Kafka.Compression, log)
	if err != nil {
		return err
	}
	topic.In(codec)
	n, err := replay.Replay(cmd.Context(), replay.TestNodes(d), topic, o)
	fmt.Fprintf(cmd.ErrOrStderr(), "%d arrivals sent to topic %s\n", n, cfg.Kafka.Topics.Arrivals)
	return err
}

// toLines opens the file of --out for write, and closes it.
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
