package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/run"
)

func pageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "page [--config FILE]",
		Short: "Look at the stream: a live page of rates, predictions, dead letters and versions",
		Long: "page serves a live page of the topics and versions that the consumer's settings name: the stream, the map\n" +
			"of the synthetic graph, one arrival taken apart, dead letters, and what serves where. It joins no group,\n" +
			"commits nothing and publishes nothing. It listens on loopback; elsewhere it needs TLS and a token\n" +
			"(docs/serve.md).",
		Args:    cobra.NoArgs,
		Example: "  rivulet page --config deploy/consumer.yaml",
	}
	config.Flags[config.Page](cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return run.Program(config.OfProgram(cmd.Flags()), os.Stderr,
			func(cfg config.Page, log *slog.Logger) error {
				return run.Page(cmd.Context(), cfg, log, func(url string) { fmt.Fprintln(cmd.OutOrStdout(), url) })
			})
	}
	return cmd
}
