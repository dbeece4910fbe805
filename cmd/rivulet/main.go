package main

import (
	"github.com/spf13/cobra"

	"rivulet/internal/cli"
	"rivulet/internal/help"
	_ "rivulet/run/parts" // they register themselves
)

func main() { cli.Main(root()) }

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rivulet",
		Short: "Real-time predictions for nodes that were not there when the graph was trained",
	}
	cmd.AddCommand(devstackCommand(), replayCommand(), deadLettersCommand(), predictCommand(),
		explainCommand(), inspectCommand(), compareCommand(),
		generateCommand(), featuresCommand(), benchCommand(), serveCommand(), pageCommand())
	help.Install(cmd)
	return cmd
}
