package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/internal/program/programtest"
)

func TestWrongFlagsAreNamed(t *testing.T) {
	occupied := t.TempDir()
	if _, err := programtest.Run(root(), "train", "--preset", "small", "--nodes", "12", "--out", filepath.Join(occupied, "first")); err != nil {
		t.Fatal(err)
	}
	for want, line := range map[string]string{
		`method is "magic"`:                     "train --preset small --out x --method magic",
		`models[0] is "gat", want one of`:       "train --preset small --out x --models gat",
		`nodes is -1`:                           "train --preset small --out x --nodes -1",
		`required flag(s) "out" not set`:        "train --preset small",
		filepath.Join(occupied, "first"):        "train --preset small --out " + filepath.Join(occupied, "first"),
		`no data set: give --data DIR`:          "train --out x",
		`artifact (default): must not be empty`: "publish",
		`redis.url is`:                          "versions --redis.url nonsense",
		`accepts 1 arg(s), received 0`:          "activate",
		`--keep is -1, want 0 or more`:          "prune --keep -1",
	} {
		if _, err := programtest.Run(root(), strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
}

// train --json prints one object with the agreed keys, and nothing else.
func TestTrainJSON(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "artifact")
	out, err := programtest.Run(root(), "train", "--preset", "small", "--nodes", "12", "--out", dir, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	decoder := json.NewDecoder(strings.NewReader(out))
	if err := decoder.Decode(&got); err != nil || decoder.More() {
		t.Fatalf("not one JSON object (%v):\n%s", err, out)
	}
	if got["artifact"] != dir || got["seconds"].(float64) <= 0 || got["peak_bytes"].(float64) <= 0 {
		t.Errorf("artifact %v, seconds %v, peak_bytes %v", got["artifact"], got["seconds"], got["peak_bytes"])
	}
	settings := map[string]int{}
	for _, r := range got["results"].([]any) {
		row := r.(map[string]any)
		for _, key := range []string{"method", "model", "setting", "shared_m", "batch", "calibration", "synthetic_nodes", "ratio", "seeds", "accuracy", "ms_per_batch", "inference_bytes"} {
			if _, ok := row[key]; !ok {
				t.Fatalf("a result has no %s: %v", key, row)
			}
		}
		if accuracy := row["accuracy"].(map[string]any); accuracy["mean"].(float64) < 50 || accuracy["std"].(float64) != 0 {
			t.Errorf("%v %v: accuracy %v", row["setting"], row["batch"], accuracy)
		}
		settings[row["setting"].(string)+" "+row["batch"].(string)]++
	}
	for _, want := range []string{"O->O graph", "O->O node", "O->S graph", "O->S node", "S->O graph", "S->O node", "S->S graph", "S->S node"} {
		if settings[want] == 0 {
			t.Errorf("no result for %s", want)
		}
	}
}
