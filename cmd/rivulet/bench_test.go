package main

import (
	"io"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// An option that no section of a run reads is an error, which names it and what would read it.
func TestBenchRefusesOptionsThatNothingReads(t *testing.T) {
	for args, want := range map[string]string{
		"--only core --rate 100":                      "--rate is for section stream",
		"--only stream --models sgc":                  "--models is for section core",
		"--only core --kafka.brokers localhost:9092":  "--kafka.brokers is for --services given",
		"--only core --format table --json":           "format",
		"--only everything":                           "--only has \"everything\"",
		"--only core --rate 100 --services somewhere": "--services is \"somewhere\"",
	} {
		cmd := benchCommand()
		cmd.SetArgs(strings.Fields(args))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		cmd.SilenceUsage = true
		expect.Error(t, cmd.ExecuteContext(t.Context()), want, "bench %s", args)
	}
}
