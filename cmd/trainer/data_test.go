package main

import (
	"path/filepath"
	"strings"
	"testing"

	"rivulet/internal/harness"
)

// Every command that reads a data set reads Parquet too.
func TestDataCommandsReadParquet(t *testing.T) {
	found := 0
	for _, cmd := range root().Commands() {
		if cmd.Flags().Lookup("data") == nil {
			continue
		}
		found++
		if format := cmd.Flags().Lookup("format"); format == nil || !strings.Contains(format.Usage, "parquet") {
			t.Errorf("trainer %s --data has no --format parquet: give dataflag.Register the format", cmd.Name())
		}
	}
	if found == 0 {
		t.Error("no command has --data")
	}
	out := filepath.Join(t.TempDir(), "artifact")
	_, err := harness.Execute(root(), "train", "--data", "../../dataset/parquet/testdata/lists", "--format", "csv", "--out", out)
	if err == nil || !strings.Contains(err.Error(), "neither nodes.csv") {
		t.Errorf("--format csv on Parquet files: error %v", err)
	}
}
