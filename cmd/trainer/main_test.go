package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer"
)

func TestWrongFlagsAreNamed(t *testing.T) {
	occupied := t.TempDir()
	if _, err := harness.Execute(root(), "train", "--preset", "small", "--preset-nodes", "600", "--nodes", "12",
		"--costs=false", "--own", "never", "--out", filepath.Join(occupied, "first")); err != nil {
		t.Fatal(err)
	}
	for want, line := range map[string]string{
		`method is "magic"`:               "train --preset small --preset-nodes 600 --out x --method magic",
		`models[0] is "gat", want one of`: "train --preset small --preset-nodes 600 --out x --models gat",
		`nodes is -1`:                     "train --preset small --preset-nodes 600 --out x --nodes -1",
		`required flag(s) "out" not set`:  "train --preset small",
		filepath.Join(occupied, "first"): "train --preset small --preset-nodes 600 --out " + filepath.Join(occupied,
			"first"),
		`no data set: give --data DIR`:          "train --out x",
		`artifact (default): must not be empty`: "publish",
		`redis.url is`:                          "versions --redis.url nonsense",
		`accepts 1 arg(s), received 0`:          "activate",
		`--keep is -1, want 0 or more`:          "prune --keep -1",
	} {
		expect.Error(t, expect.ErrorOf(harness.Execute(root(), strings.Fields(line)...)), want, "%s", line)
	}
}

// Where a result could not be written that is said before the work begins: the data are not even looked at.
func TestOutputsAreTriedFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	expect.OK(t, os.WriteFile(file, nil, 0o600))
	lines := map[string]string{
		"eval --csv " + file + "/x":      "--csv cannot be written: ",
		"eval --markdown " + file + "/x": "--markdown cannot be written: ",
		"refresh --from " + file + " --out " + filepath.Join(t.TempDir(), "a") + " --data-out " + file +
			"/x": "--data-out is " + file,
	}
	if _, err := os.Stat("/proc/self"); err == nil { // where not even root may write
		lines["train --out /proc/nowhere/x"] = "--out is /proc/nowhere/x, where nothing can be written: "
		lines["import --weights w --model gcn --out /proc/nowhere/x"] =
			"--out is /proc/nowhere/x, where nothing can be written: "
		lines["refresh --from "+file+" --every 1h --out /proc/nowhere/x"] =
			"--out is /proc/nowhere/x, where nothing can be written: "
	}
	for line, want := range lines {
		_, err := harness.Execute(root(), append(strings.Fields(line), "--data", filepath.Join(t.TempDir(), "no-data"))...)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
}

// train ends with what counts: what is served beside the whole graph. --table prints all settings.
func TestTrainPrints(t *testing.T) {
	for _, table := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "artifact")
		out, err := harness.Execute(root(), "train", "--preset", "small", "--preset-nodes", "600", "--nodes", "12",
			"--costs=false", "--own", "never", fmt.Sprintf("--map=%t", table),
			"--propagate=false", fmt.Sprintf("--table=%t", table), "--out", dir)
		expect.OK(t, err)
		expect.Same(t, table, hasMap(dir), "whether there is a map with --map=%t", table)
		counts := regexp.MustCompile(
			`each arriving alone, [5-9]\d\.\d% right on 12 synthetic nodes, [5-9]\d\.\d% on the whole graph of \d+; ` +
				`[5-9]\d\.\d% of the answers are the same`)
		if !counts.MatchString(out) || strings.Contains(out, "rebatched") != table {
			t.Errorf("--table=%t:\n%s", table, out)
		}
	}
}

// hasMap reports whether an artifact's directory has the map of S.
func hasMap(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "map.safetensors"))
	return err == nil
}

// train --json prints one object with the agreed keys, and nothing else.
func TestTrainJSON(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "artifact")
	out, err := harness.Execute(root(), "train", "--preset", "small", "--preset-nodes", "600", "--nodes", "12", "--out",
		dir, "--json")
	expect.OK(t, err)
	var got map[string]any
	decoder := json.NewDecoder(strings.NewReader(out))
	if err := decoder.Decode(&got); err != nil || decoder.More() {
		t.Fatalf("not one JSON object (%v):\n%s", err, out)
	}
	expect.Same(t, true, hasMap(dir), "whether there is a map without --map")
	if got["artifact"] != dir || got["seconds"].(float64) <= 0 || got["peak_bytes"].(float64) <= 0 {
		t.Errorf("artifact %v, seconds %v, peak_bytes %v", got["artifact"], got["seconds"], got["peak_bytes"])
	}
	settings := map[string]int{}
	for _, r := range got["results"].([]any) {
		row := r.(map[string]any)
		for _, key := range []string{"method", "model", "setting", "shared_m", "batch", "calibration", "synthetic_nodes",
			"ratio", "seeds", "accuracy", "ms_per_batch", "inference_bytes"} {
			if _, ok := row[key]; !ok {
				t.Fatalf("a result has no %s: %v", key, row)
			}
		}
		if accuracy := row["accuracy"].(map[string]any); accuracy["mean"].(float64) < 50 || accuracy["std"].(float64) != 0 {
			t.Errorf("%v %v: accuracy %v", row["setting"], row["batch"], accuracy)
		}
		settings[row["setting"].(string)+" "+row["batch"].(string)]++
	}
	for _, want := range []string{"O->O graph", "O->O node", "O->S graph", "O->S node", "S->O graph", "S->O node",
		"S->S graph", "S->S node"} {
		if settings[want] == 0 {
			t.Errorf("no result for %s", want)
		}
	}
}

// Method learned reports its course, and its flags change the run; they are refused for methods that do not read them.
func TestTrainLearned(t *testing.T) {
	t.Parallel()
	run := func(line string) (string, error) {
		return harness.Execute(root(), append(
			strings.Fields("train --preset small --preset-nodes 600 --nodes 12 --costs=false --out "+filepath.Join(t.TempDir(),
				"a")), strings.Fields(line)...)...)
	}
	type outcome struct {
		Learned struct {
			Rounds int     `json:"rounds"`
			Lambda float64 `json:"lambda"`
			Beta   float64 `json:"beta"`
			Mu     float64 `json:"mu"`
			Delta  float64 `json:"delta"`
		} `json:"learned"`
		Results []struct {
			Method, Attachment string
		} `json:"results"`
	}
	out, err := run("--method learned --rounds 2 --lambda 0.5 --beta 10 --mu 0.2 --delta 0.6 --json")
	expect.OK(t, err)
	var got outcome
	expect.OK(t, json.Unmarshal([]byte(out), &got))
	if l := got.Learned; l.Rounds != 2 || l.Lambda != 0.5 || l.Beta != 10 || l.Mu != 0.2 || l.Delta != 0.6 ||
		got.Results[1].Method != "learned" || got.Results[1].Attachment != "joint" {
		t.Errorf("learned %+v, %+v", l, got.Results[1])
	}
	for line, want := range map[string]string{
		"--rounds 2":                  "--rounds is for method learned, not solved",
		"--search":                    "unknown flag: --search", // ablations and comparisons are for eval
		"--method learned --plain":    "unknown flag: --plain",
		"--method learned --rounds 0": "rounds is 0, want at least 1",
		"--method learned --beta -1":  "beta is -1",
		"--method gcond":              "makes no artifact",
		"--method vng --models gcn":   `models[0] is "gcn", method vng has sgc only`,
		"--coverage 1.5":              "coverage is 1.5",
	} {
		expect.Error(t, expect.ErrorOf(run(line)), want, "%s", line)
	}
}

// eval prints the rows of train and more, and writes them as files.
func TestEval(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	csv, markdown := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "rows.md")
	out, err := harness.Execute(root(), "eval", "--preset", "small", "--preset-nodes", "600", "--methods", "solved,random",
		"--ratios", "0.02,0.04", "--seeds", "0,1", "--own", "never", "--weight-decays", "1e-4",
		"--calibrations", "none", "--costs=false", "--json", "--csv", csv, "--markdown", markdown)
	expect.OK(t, err)
	var got struct {
		Fingerprint string           `json:"fingerprint"`
		Results     []map[string]any `json:"results"`
	}
	expect.OK(t, json.Unmarshal([]byte(out), &got))
	sizes := map[float64]bool{}
	for _, r := range got.Results {
		for _, key := range []string{"method", "model", "setting", "shared_m", "batch", "calibration", "synthetic_nodes",
			"ratio", "seeds", "accuracy",
			"ms_per_batch", "inference_bytes", "macro_f1", "agreement", "changed_by_batching", "weight_decay"} {
			if _, ok := r[key]; !ok {
				t.Fatalf("a result has no %s: %v", key, r)
			}
		}
		sizes[r["synthetic_nodes"].(float64)] = true
	}
	if len(sizes) != 2 || !strings.HasPrefix(got.Fingerprint, "sha256:") {
		t.Errorf("sizes %v, fingerprint %q", sizes, got.Fingerprint)
	}
	for file, lines := range map[string]int{csv: 1 + len(got.Results), markdown: 2 + len(got.Results)/2} {
		text, err := os.ReadFile(file)
		expect.OK(t, err)
		if n := strings.Count(string(text), "\n"); n != lines {
			t.Errorf("%s has %d lines, want %d", filepath.Base(file), n, lines)
		}
	}
	if _, err := harness.Execute(root(), "eval", "--preset", "small", "--preset-nodes", "600", "--methods",
		"magic"); err == nil || !strings.Contains(err.Error(), `method is "magic"`) {
		t.Errorf("error %v", err)
	}
}

func TestWriteChoices(t *testing.T) {
	var table strings.Builder
	choices := []trainer.ModelChoice{{Model: "sgc", Own: true, Validation: 93.5, Chosen: true}, {Model: "gcn", Bytes: 2e6}}
	if err := writeChoices(&table, choices); err != nil || strings.Count(table.String(), "*") != 1 ||
		strings.Count(table.String(), "\n") != 3 || !strings.Contains(table.String(), "93.50") {
		t.Errorf("%v in\n%s", err, table.String())
	}
}
