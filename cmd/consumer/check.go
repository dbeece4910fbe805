package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/internal/check"
	"rivulet/internal/cli"
	"rivulet/run"
)

func checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [--config FILE]",
		Short: "Try each service that the consumer needs, and say what is wrong and what to do",
		Long: "check takes the consumer's settings and tries each service once, without joining the group or writing to\n" +
			"Kafka: the brokers and the login, the rights on topics and group, Redis and the version that CURRENT names,\n" +
			"and where they are set the schema registry and the store of features. Of each topic it shows the settings\n" +
			"that matter (retention, compaction, sizes), with advice where one will hurt. It prints one line for each.\n" +
			"The exit status is 0 if all is well, and 1 if something is not.",
		Args:    cobra.NoArgs,
		Example: "  consumer check --kafka.brokers localhost:9092 --artifact out/small",
	}
	config.Flags[config.Consumer](cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load[config.Consumer](config.OfProgram(cmd.Flags()))
		if err != nil {
			return err
		}
		made, failed, err := run.Check(cmd.Context(), cfg, func(r check.Result) {
			fmt.Fprintln(cmd.OutOrStdout(), cli.Message(r.String()))
		})
		if err == nil && failed > 0 {
			err = fmt.Errorf("%d of %d checks failed or were skipped", failed, made)
		}
		return err
	}
	return cmd
}
