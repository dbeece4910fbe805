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
		"--only kernels,rows --models sgc":            "--models is for sections core and rivals",
		"--only rows --store-rows 5000":               "--store-rows is for --only store",
		"--save x --shapes reddit --rate 100":         "save",
		"--save x --shapes reddit --json":             "save",
		"--save x --shapes reddit,flickr":             "--save wants one shape",
		"--only core --kafka.brokers localhost:9092":  "--kafka.brokers is for --services given",
		"--only store":                                "want --services given",
		"--check --only core":                         "check",
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
