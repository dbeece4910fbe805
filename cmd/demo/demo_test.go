package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/internal/cli/clitest"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

func TestHelpHasExamples(t *testing.T) { clitest.Examples(t, command) }

func TestCommandsOfPagesCanBeRun(t *testing.T) { clitest.Pages(t, command, "../..") }

func TestWrongFlagsAreNamed(t *testing.T) {
	for want, line := range map[string]string{
		`--mode: batch mode is "edge", want node or graph`: "--mode edge",
		`--batch is 0, want at least 1`:                    "--batch 0",
		`--rate is -1`:                                     "--rate -1",
		`--preset is "huge", want one of`:                  "--preset huge",
		`both --data x and --preset small`:                 "--data x --preset small",
		`both nodes (10) and ratio (0.1) are set`:          "--ratio 0.1 --nodes 10",
		`--mode is graph, and --grow compares batches whose arrivals do not see each other: --mode node`: "--grow --mode graph",
		`if any flags in the group [grow artifact] are set`:                                              "--grow --artifact x",
		`if any flags in the group [grow page] are set`:                                                  "--grow --page",
	} {
		expect.Error(t, expect.ErrorOf(harness.Execute(command(), strings.Fields(line)...)), want, "%s", line)
	}
}

// The demonstration is for classes: each other task is refused by its name, and so are tables that this program cannot
// read.
func TestOtherData(t *testing.T) {
	for settings, want := range map[string]string{
		"task: number\nlabel: age\n":       "the task is number, and the demonstration is for classes only (docs/tasks.md)",
		"task: labels\nlabel: favourite\n": "the task is labels, and the demonstration is for classes only (docs/tasks.md)",
	} {
		dir := t.TempDir()
		expect.OK(t, os.CopyFS(dir, os.DirFS("../../examples/shop")))
		text := "nodes: users.csv\nedges: follows.csv\nid: user_id\nsource: follower\ntarget: followee\n" + settings
		expect.OK(t, os.WriteFile(filepath.Join(dir, "data.yaml"), []byte(text), 0o600))
		for _, flags := range [][]string{{"--data", dir}, {"--grow", "--data", dir}} {
			expect.Error(t, expect.ErrorOf(harness.Execute(command(), flags...)), want, "%s %q", settings, flags)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"nodes.parquet", "edges.parquet"} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("PAR1"), 0o600))
	}
	expect.Error(t, expect.ErrorOf(harness.Execute(command(), "--data", dir)),
		"the tables are Parquet, which the trainer reads and this program does not")
}
