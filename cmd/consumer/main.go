// Command consumer is the service: arrivals in from Kafka, predictions out.
//
// consumer check tries all its connections and reports the errors; consumer lint needs none.
//
// Its settings are flags, RIVULET_ variables and a YAML file; config/REFERENCE.md lists them. It stops on SIGTERM or
// SIGINT after finishing, publishing and committing the current micro-batches; a second signal stops it at once, and
// records that were not committed are read again.
package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"rivulet"
	"rivulet/config"
	"rivulet/internal/cli"
	"rivulet/internal/help"
	"rivulet/run"
)

func main() { cli.Main(command()) }

func command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "consumer [--config FILE]",
		Short: "Predict arrivals from Kafka on a condensed graph",
		Long: "consumer reads arrivals from Kafka in micro-batches, attaches them to the synthetic graph that CURRENT\n" +
			"names in Redis (or that --artifact pins), publishes predictions, and then commits.",
		Args: cobra.NoArgs,
		Example: "  trainer train --preset small --out out/small\n" +
			"  consumer --kafka.brokers localhost:9092 --artifact out/small\n" +
			"  consumer --config consumer.yaml                                    # config/REFERENCE.md lists its keys\n" +
			"  consumer --input.mapping.preset debezium --input.mapping.named '#' # rows of a table; docs/recipes.md",
	}
	config.Flags[config.Consumer](cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return run.Program(config.OfProgram(cmd.Flags()), os.Stderr,
			func(cfg config.Consumer, log *slog.Logger) error {
				return rivulet.RunConsumer(cmd.Context(), cfg, log)
			})
	}
	cmd.AddCommand(checkCommand(), lintCommand())
	help.Install(cmd)
	return cmd
}
