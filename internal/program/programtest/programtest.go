// Package programtest runs command lines in tests.
package programtest

import (
	"bytes"

	"github.com/spf13/cobra"
)

// Run runs a command line and returns what it wrote to standard output.
func Run(cmd *cobra.Command, args ...string) (string, error) {
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}
