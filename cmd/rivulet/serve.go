package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/run"
)

func serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [--config FILE]",
		Short: "Answer arrivals over HTTP, for whoever cannot wait for a topic",
		Long: "serve predicts and explains arrivals that are sent to it (POST /predict, /explain), on the path\n" +
			"that the consumer takes, by the version that CURRENT names in Redis or that --artifact pins. Nothing is\n" +
			"written but the heartbeat that holds the version. It listens on this machine alone unless it has TLS and\n" +
			"a token (docs/serve.md).",
		Args: cobra.NoArgs,
		Example: "  trainer train --preset small --out out/small\n" +
			"  rivulet serve --artifact out/small &\n" +
			"  rivulet replay --preset small --out - | head -1 | curl --json @- http://localhost:8080/predict",
	}
	config.Flags[config.Serve](cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return run.Program(config.OfProgram(cmd.Flags()), os.Stderr,
			func(cfg config.Serve, log *slog.Logger) error {
				return run.Serve(cmd.Context(), cfg, log)
			})
	}
	return cmd
}
