package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// Commands that know only classes refuse numbers by name, before they write anything; data check and train take them.
func TestNumbersAreRefusedByPrograms(t *testing.T) {
	dir := shopOf(t, "task: number\nlabel: age\n")
	model := filepath.Join(dir, "model")
	if text := runLine(t, "data check --data "+dir); !strings.Contains(text, "task number: age of ") ||
		!strings.Contains(text, "consumers read ") {
		t.Errorf("data check says %s", text)
	}
	text := runLine(t, "train --table --costs=false"+fewDecays+" --data "+dir+" --out "+model)
	if !strings.Contains(text, "R² on the test nodes: ") || !strings.Contains(text, "; mean absolute error ") ||
		!strings.Contains(text, "node R² %") || !strings.Contains(text, "in interval %") ||
		strings.Contains(text, "as Whole %") {
		t.Errorf("train says %s", text)
	}
	refusedByPrograms(t, "number", dir)
}

// The same commands refuse links by name. data check prints the number of candidates, and train what it has measured.
func TestLinksThroughThePrograms(t *testing.T) {
	t.Parallel()
	dir := shopOf(t, "task: links\ncandidates: country=NL\n")
	if text := runLine(t, "data check --data "+dir); !strings.Contains(text, "task links: ") ||
		!strings.Contains(text, " candidates among ") || !strings.Contains(text, "consumers read ") {
		t.Errorf("data check says %s", text)
	}
	held := filepath.Join(dir, "held.csv")
	text := runLine(t, "train --costs=false --held-out "+held+strongDecay+" --data "+dir+" --out "+filepath.Join(dir, "model"))
	file, err := os.ReadFile(held)
	expect.OK(t, err)
	count := strings.Count(string(file), "\ntest,")
	if !strings.HasPrefix(string(file), "role,node,candidate\nvalidation,") || count == 0 ||
		!strings.Contains(text, fmt.Sprintf("was held out, %d links: MRR ", count)) {
		t.Errorf("%d links of test nodes were held out; train says %s and writes %.200s", count, text, file)
	}
	if !strings.Contains(text, "a tenth of the edges of test nodes") || !strings.Contains(text, "by popularity MRR ") {
		t.Errorf("train says %s", text)
	}
	if text := runLine(t, "eval --costs=false"+strongDecay+" --seeds 0,1 --data "+dir); !strings.Contains(text, "hits@50 %") ||
		!strings.Contains(text, "Adamic-Adar MRR %") {
		t.Errorf("eval says %s", text)
	}
	refusedByPrograms(t, "links", dir)
}

// shopOf copies the first third of examples/shop with the settings of a task, and returns the copy's directory.
func shopOf(t *testing.T, task string) string {
	t.Helper()
	dir, there := t.TempDir(), map[string]bool{"follower": true, "followee": true}
	for _, name := range []string{"users.csv", "follows.csv"} {
		text, err := os.ReadFile(filepath.Join("../../examples/shop", name))
		expect.OK(t, err)
		var some strings.Builder
		for n, line := range strings.SplitAfter(string(text), "\n") {
			first, rest, _ := strings.Cut(strings.TrimSpace(line), ",")
			if name == "users.csv" && n <= 1000 {
				there[first] = true
				some.WriteString(line)
			} else if second, _, _ := strings.Cut(rest, ","); there[first] && there[second] {
				some.WriteString(line)
			}
		}
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(some.String()), 0o600))
	}
	settings := "nodes: users.csv\nedges: follows.csv\nid: user_id\nsource: follower\ntarget: followee\n" +
		"drop: [favourite]\n" + task
	expect.OK(t, os.WriteFile(filepath.Join(dir, "data.yaml"), []byte(settings), 0o600))
	return dir
}

// refusedByPrograms checks that commands which do not know a data set's task refuse it and write nothing.
func refusedByPrograms(t *testing.T, task, dir string) {
	t.Helper()
	out := filepath.Join(dir, "out")
	for line, want := range map[string]string{
		"train --models gcn --out " + out + " --data " + dir:                   "model gcn",
		"eval --missing-edges=0.5 --data " + dir:                               "the study of missing edges",
		"eval --calibrations lp --data " + dir:                                 "calibration lp",
		"grow --data " + dir:                                                   "the study of growth",
		"import --weights nowhere --model sgc --out " + out + " --data " + dir: "importing weights",
	} {
		text, err := harness.Execute(root(), strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), "the task is "+task) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q\n%s", line, err, want, text)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s has written %s", line, out)
		}
	}
}
