package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/internal/app"
	"rivulet/internal/check"
	"rivulet/internal/cli"
)

func checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [--config FILE]",
		Short: "Try every connection that the consumer needs, and say what is wrong and what to do",
		Long: "check takes the consumer's settings and tries, without joining the group or writing to Kafka: each broker\n" +
			"(reach, TLS, login), the topics and the rights to read or write them, the group, Redis, and the version that\n" +
			"CURRENT names. It prints one line for each. The exit status is 0 if all is well, and 1 if something is not.",
		Args:    cobra.NoArgs,
		Example: "  consumer check --kafka.brokers localhost:9092 --artifact out/small",
	}
	config.Flags[config.Consumer](cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load[config.Consumer](config.OfProgram(cmd.Flags()))
		if err != nil {
			return err
		}
		made, failed, err := app.Check(cmd.Context(), cfg, func(r check.Result) {
			fmt.Fprintln(cmd.OutOrStdout(), cli.Message(r.String()))
		})
		if err == nil && failed > 0 {
			err = fmt.Errorf("%d of %d checks failed or were skipped", failed, made)
		}
		return err
	}
	return cmd
}
