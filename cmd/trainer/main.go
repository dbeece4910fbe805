package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"rivulet/cmd/trainer/versions"
	"rivulet/internal/cli"
	"rivulet/internal/help"
	_ "rivulet/run/parts" // they register themselves
)

// collectAt is the growth of the heap in percent at which garbage is collected, unless GOGC says otherwise. The heap
// is a few large matrices without pointers, which are cheap to collect often and expensive to hold twice.
const collectAt = 25

// largeData is the size of the heap in bytes, after a data set has been read, from which garbage is collected at a
// growth of collectLargeAt percent: in the shape of Reddit that takes 2.3 GB instead of 2.9 and no more time. A small
// one would take an eighth more time, and saves a tenth of 120 MB.
const (
	largeData      = 256 << 20
	collectLargeAt = 5
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	cli.Main(root())
}

// collectForSize sets how often garbage is collected by the size of the data set that was just read.
func collectForSize() {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	if os.Getenv("GOGC") == "" && now.HeapAlloc > largeData {
		debug.SetGCPercent(collectLargeAt)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trainer",
		Short: "Condense a graph into an artifact, and publish it",
		Long: "trainer condenses the original graph of a data set into a small synthetic graph S and a sparse mapping M,\n" +
			"writes them as an artifact, and publishes artifacts to the Redis that consumers follow.",
	}
	cmd.AddCommand(dataCommand(), trainCommand(), importCommand(), evalCommand(), growCommand(),
		refreshCommand())
	cmd.AddGroup(lakeGroup)
	cmd.AddCommand(lakeCommands()...)
	cmd.AddCommand(versions.Commands()...)
	help.Install(cmd)
	return cmd
}
