// Command trainer makes artifacts from data sets and publishes them to the Redis that consumers follow.
package main

import (
	"github.com/spf13/cobra"

	"rivulet/internal/cli"
)

func main() { cli.Main(root()) }

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trainer",
		Short: "Condense a graph into an artifact, and publish it",
		Long: "trainer condenses the original graph of a data set into a small synthetic graph S and a sparse mapping M,\n" +
			"writes them as an artifact, and publishes artifacts to the Redis that consumers follow.",
	}
	cmd.AddCommand(trainCommand(), importCommand(), evalCommand(), growCommand(), refreshCommand(),
		reportCommand(), publishCommand(), versionsCommand(), activateCommand(), pruneCommand())
	return cmd
}
