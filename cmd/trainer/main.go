// Command trainer makes artifacts from data sets and publishes them to the Redis that consumers follow.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal has its default effect
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "trainer:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trainer",
		Short: "Condense a graph into an artifact, and publish it",
		Long: "trainer condenses the original graph of a data set into a small synthetic graph S and a sparse mapping M,\n" +
			"writes them as an artifact, and publishes artifacts to the Redis that consumers follow.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(trainCommand(), publishCommand(), versionsCommand(), activateCommand(), pruneCommand())
	return cmd
}
