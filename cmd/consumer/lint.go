package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/internal/cli"
	"rivulet/run"
)

func lintCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "lint [--config FILE]",
		Short: "Check the settings without a connection, and print each with its origin",
		Long: "lint reads the settings as the consumer does, and the files that they name: certificates, passwords, the\n" +
			"mapping, an artifact. It connects to nothing, so that it can run where a configuration is written. It prints\n" +
			"the settings that differ from their defaults, each with the line, the variable or the flag that sets it; no\n" +
			"password is among them. The exit status is 0 if all is well, and 1 if something is not.",
		Args:    cobra.NoArgs,
		Example: "  consumer lint --config deploy/consumer.yaml",
	}
	config.Flags[config.Consumer](cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "print the settings that have their defaults, too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, settings, err := config.Explain[config.Consumer](config.OfProgram(cmd.Flags()))
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, s := range settings {
			if all || s.Origin != config.OriginDefault {
				fmt.Fprintf(table, "%s\t%s\t%s\n", s.Key, cli.Message(s.Value), cli.Message(s.Origin))
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
		return errors.Join(run.Lint(cfg)...)
	}
	return cmd
}
