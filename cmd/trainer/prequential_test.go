package main

import (
	"encoding/json"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// eval --prequential judges generated data, data with times that were saved, and data without times.
func TestEvalPrequential(t *testing.T) {
	const short = " --prequential --chunks 2 --nodes 30 --weight-decays 1e-4 --json "
	judged := func(line string) (s prequentialOutput) {
		t.Helper()
		expect.OK(t, json.Unmarshal([]byte(run(t, "eval"+short+line)), &s))
		return s
	}
	s := judged("--preset drift --preset-nodes 900 --seeds 1,2")
	if len(s.Results) != 2 || s.Results[1].Seed != 2 || s.Results[0].Order != "time" || len(s.Results[0].Chunks) != 2 ||
		s.Results[0].Chunks[1].Judged == nil || s.Results[0].Nodes != 30 {
		t.Errorf("%+v", s)
	}
	if s = judged("--preset small --preset-nodes 900 --label-delay 2"); s.Results[0].Order != "walk" ||
		s.Results[0].Delay != 2 {
		t.Errorf("%+v", s)
	}
	for line, want := range map[string]string{
		"--chunks 1":              "chunks is 1",
		"--methods solved,cached": "one method and one size",
		"--nodes 10,20":           "one method and one size",
		"--missing-edges":         "none of the others can be",
		"--markdown x.md":         "none of the others can be",
		"--methods random":        "random",
		"--alarm-agreement 200":   "agreement is 200",
	} {
		args := strings.Fields("eval --prequential --preset small --preset-nodes 900 " + line)
		expect.Error(t, expect.ErrorOf(harness.Execute(root(), args...)), want, "%s", line)
	}
	for _, flag := range []string{"--chunks=3", "--alarm-drop=2", "--micro-batch=9"} {
		_, err := harness.Execute(root(), "eval", "--preset", "small", flag)
		expect.Error(t, err, "is read by --prequential only", "%s alone", flag)
	}
}
