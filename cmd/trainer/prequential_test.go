package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// eval --prequential judges generated data, data with times that were saved, and data without times, and draws them.
func TestEvalPrequential(t *testing.T) {
	dir := t.TempDir()
	const short = " --prequential --chunks 2 --nodes 30 --weight-decays 1e-4 --json "
	judged := func(line string) (s prequentialOutput) {
		t.Helper()
		expect.OK(t, json.Unmarshal([]byte(run(t, "eval"+short+line)), &s))
		return s
	}
	picture := filepath.Join(dir, "stream.html")
	s := judged("--preset drift --preset-nodes 900 --seeds 1,2 --picture " + picture)
	if len(s.Results) != 2 || s.Results[1].Seed != 2 || s.Results[0].Order != "time" || len(s.Results[0].Chunks) != 2 ||
		s.Results[0].Chunks[1].Judged == nil || s.Results[0].Nodes != 30 {
		t.Errorf("%+v", s)
	}
	text, err := os.ReadFile(picture)
	if err != nil || strings.Count(string(text), "<figure") != 4 || !strings.Contains(string(text), "S by alarm") {
		t.Errorf("%v: %d bytes of a picture", err, len(text))
	}
	if s = judged("--preset small --preset-nodes 900 --label-delay 2"); s.Results[0].Order != "walk" ||
		s.Results[0].Delay != 2 {
		t.Errorf("%+v", s)
	}
	for line, want := range map[string]string{
		"--chunks 1":                 "chunks is 1",
		"--methods solved,cached":    "one method and one size",
		"--nodes 10,20":              "one method and one size",
		"--missing-edges":            "none of the others can be",
		"--markdown x.md":            "none of the others can be",
		"--methods random":           "random",
		"--alarm-agreement 200":      "agreement is 200",
		"--picture " + dir + "/no/x": "--picture",
	} {
		args := strings.Fields("eval --prequential --preset small --preset-nodes 900 " + line)
		expect.Error(t, expect.ErrorOf(harness.Execute(root(), args...)), want, "%s", line)
	}
	for _, flag := range []string{"--chunks=3", "--alarm-drop=2", "--picture=x.html"} {
		_, err := harness.Execute(root(), "eval", "--preset", "small", flag)
		expect.Error(t, err, "is read by --prequential only", "%s alone", flag)
	}
}
