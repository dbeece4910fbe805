package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Main runs a command until it ends, with a context that ends on SIGINT or SIGTERM; a second signal has its default
// effect. An error is printed with the program's name, and the exit status is 1.
func Main(cmd *cobra.Command) {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", cmd.Name(), err)
		os.Exit(1)
	}
}
