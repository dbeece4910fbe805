// Command rivulet is what a person runs by hand: the demo, a stack to develop against, a replay of a data set, and tools for
// artifacts.
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
		fmt.Fprintln(os.Stderr, "rivulet:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "rivulet",
		Short:         "Real-time predictions for nodes that were not there when the graph was trained",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(demoCommand(), devstackCommand(), replayCommand(), predictCommand(), inspectCommand(), generateCommand())
	return cmd
}
