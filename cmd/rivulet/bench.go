package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/config"
	"rivulet/internal/bench"
	"rivulet/internal/cli"
)

// Values of --services.
const (
	embedded = "embedded"
	given    = "given"
)

// benchFlags select the measurements, the services, and the printed form.
type benchFlags struct {
	bench.Options
	services, format string
	asJSON           bool
}

func benchCommand() *cobra.Command {
	f := &benchFlags{Options: bench.Options{Time: 200 * time.Millisecond}}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what serving costs on this machine",
		Long: "bench measures on graphs and artifacts of random numbers, in the shapes of Pubmed, Flickr and Reddit:\n" +
			"  core    node batches of 1, 10, 100 and 1000, from rows of M in memory to probabilities, for each model\n" +
			"  stream  the consumer in this process, in JSON and Protobuf: a topic drained, then latencies from an\n" +
			"          arrival's due time to its publication, at 50 and 80% of the highest rate; with --delivery\n" +
			"          exactly_once the consumer with transactions, too\n" +
			"Sides that are compared run in turn, and figures are medians. CPU and bytes are of this process; broker\n" +
			"and Redis run in another one (--services embedded) or are yours (given): topics, groups and keys with\n" +
			"names of their own are made there, and removed afterwards. docs/results.md says what the figures\n" +
			"mean.",
		Args: cobra.NoArgs,
		Example: "  rivulet bench\n  rivulet bench --only core --shapes reddit --models sgc,gcn --time 2s\n" +
			"  rivulet bench --only stream --services given --kafka.brokers localhost:9092 \\\n" +
			"    --redis.url redis://localhost:6379/15\n" +
			"  rivulet bench --only core --format benchmark > new.txt   # benchstat old.txt new.txt",
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.Only, "only", nil, "sections to measure: "+strings.Join(bench.Sections, ", ")+
		" (default both)")
	flags.StringSliceVar(&f.Shapes, "shapes", nil,
		"shapes: pubmed, flickr, reddit (default all; stream takes the first, or flickr)")
	flags.StringSliceVar(&f.Models, "models", nil, "models of core (default all)")
	flags.DurationVar(&f.Time, "time", f.Time,
		"how long each figure is measured; streams have arrivals in proportion, 200,000 a second of it")
	flags.IntVar(&f.Rate, "rate", 0,
		"arrivals a second at which streams are sent, besides 50 and 80% of the most; 0: none")
	flags.StringVar(&f.Delivery, "delivery", config.AtLeastOnce,
		"exactly_once: streams of the consumer with transactions, too, beside those of at_least_once")
	flags.StringVar(&f.services, "services", embedded,
		"embedded: a broker and a Redis in a process that bench starts; given: those of --kafka.brokers and --redis.url")
	flags.StringVar(&f.format, "format", "table", "table, or benchmark: lines that benchstat reads")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else to standard output")
	config.Flags[config.Bench](flags)
	cmd.MarkFlagsMutuallyExclusive("json", "format")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.valid(cmd.Flags()); err != nil {
			return err
		}
		f.Progress = cli.Stderr()
		f.Services = func(ctx context.Context) (*bench.Services, error) { return f.open(ctx, cmd) }
		report, err := bench.Run(cmd.Context(), f.Options)
		if err != nil {
			return err
		}
		return f.print(cmd, report)
	}
	return cmd
}

func (f *benchFlags) valid(flags *pflag.FlagSet) error {
	if f.format != "table" && f.format != "benchmark" {
		return fmt.Errorf("--format is %q, want table or benchmark", f.format)
	}
	if f.services != embedded && f.services != given {
		return fmt.Errorf("--services is %q, want %s or %s", f.services, embedded, given)
	}
	var unused string
	flags.Visit(func(flag *pflag.Flag) {
		if strings.HasPrefix(flag.Name, "kafka.") || strings.HasPrefix(flag.Name, "redis.") {
			unused = flag.Name
		}
	})
	if f.services == embedded && unused != "" {
		return fmt.Errorf("--%s is for --services %s", unused, given)
	}
	for _, name := range []string{"rate", "delivery"} {
		if flags.Changed(name) && !f.measures(bench.Stream) {
			return fmt.Errorf("--%s is for section %s, which --only leaves out", name, bench.Stream)
		}
	}
	if flags.Changed("models") && !f.measures(bench.Core) {
		return fmt.Errorf("--models is for section %s, which --only leaves out", bench.Core)
	}
	return f.Validate()
}

func (f *benchFlags) measures(section string) bool {
	return len(f.Only) == 0 || slices.Contains(f.Only, section)
}

// open starts the services, or says where the given ones are.
func (f *benchFlags) open(ctx context.Context, cmd *cobra.Command) (*bench.Services, error) {
	if f.services == embedded {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return bench.Embedded(ctx, program)
	}
	cfg, err := config.Load[config.Bench](config.OfProgram(cmd.Flags()))
	if err != nil {
		return nil, err
	}
	return &bench.Services{Kafka: cfg.Kafka.Brokers, Redis: cfg.Redis}, nil
}

func (f *benchFlags) print(cmd *cobra.Command, r *bench.Report) error {
	switch {
	case f.asJSON:
		return r.WriteJSON(cmd.OutOrStdout())
	case f.format == "benchmark":
		return r.WriteBenchmarks(cmd.OutOrStdout())
	}
	return r.Print(cmd.OutOrStdout())
}
