// Command consumer is the service: arrivals in from Kafka, predictions out.
//
// consumer check tries all its connections and reports the errors.
//
// Its settings are flags, RIVULET_ variables and a YAML file; config/REFERENCE.md lists them. It stops on SIGTERM or
// SIGINT after finishing, publishing and committing the current micro-batches; a second signal stops it at once, and
// records that were not committed are read again.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/internal/app"
	"rivulet/internal/cli"
	"rivulet/internal/observe"
)

func main() { cli.Main(command()) }

func command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "consumer [--config FILE]",
		Short: "Predict arrivals from Kafka on a condensed graph",
		Long: "consumer reads arrivals from Kafka in micro-batches, attaches them to the synthetic graph that CURRENT names in\n" +
			"Redis (or that --artifact pins), publishes predictions, and then commits.",
		Args: cobra.NoArgs,
		Example: "  consumer --kafka.brokers localhost:9092 --artifact out/small      # after trainer train --preset small --out out/small\n" +
			"  consumer --config consumer.yaml                                    # config/REFERENCE.md lists its keys\n" +
			"  consumer --input.mapping.preset debezium --input.mapping.named '#' # rows of a table; docs/connectors.md",
	}
	config.Flags[config.Consumer](cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load[config.Consumer](config.Sources{Flags: cmd.Flags(), Environ: os.Environ()})
		if err != nil {
			return err
		}
		log, err := observe.NewLogger(cfg.Log.Level, cfg.Log.Format, os.Stderr)
		if err != nil {
			return err
		}
		return app.RunConsumer(cmd.Context(), cfg, log, nil)
	}
	cmd.AddCommand(checkCommand())
	return cmd
}
