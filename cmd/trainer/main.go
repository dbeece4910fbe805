// Command trainer makes artifacts from data sets and publishes them to the Redis that consumers follow.
package main

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"rivulet/internal/cli"
)

// collectAt is the growth of the heap in percent at which garbage is collected, unless GOGC says otherwise. The heap
// is a few large matrices without pointers, which are cheap to collect often and expensive to hold twice.
const collectAt = 25

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	cli.Main(root())
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trainer",
		Short: "Condense a graph into an artifact, and publish it",
		Long: "trainer condenses the original graph of a data set into a small synthetic graph S and a sparse mapping M,\n" +
			"writes them as an artifact, and publishes artifacts to the Redis that consumers follow.",
	}
	cmd.AddCommand(dataCommand(), trainCommand(), cleanCommand(), importCommand(), evalCommand(), growCommand(), refreshCommand(),
		reportCommand(), publishCommand(), versionsCommand(), activateCommand(), pruneCommand())
	return cmd
}
