package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/dataset/generate"
	"rivulet/dataset/parquet"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// Tables of CSV and Parquet that are read row by row, in memory and on disk, and a directory that is cleaned.
func TestTrainByStages(t *testing.T) {
	g, err := generate.Scaled("small", 300)
	expect.OK(t, err)
	d, err := generate.Graph(g, 1)
	expect.OK(t, err)
	dir := t.TempDir()
	csv, columns := filepath.Join(dir, "csv", "shop"), filepath.Join(dir, "parquet", "shop")
	expect.OK(t, d.SaveCSV(csv))
	expect.OK(t, parquet.Save(d, columns))
	work := filepath.Join(dir, "work")
	runs := map[string]string{
		"memory": "--sums fixed --data " + csv,
		"disk":   "--engine disk --memory 256MiB --work " + work + " --data " + csv,
		"tables": "--engine disk --data " + columns,
	}
	for name, line := range runs {
		line = "train --own never --nodes 20 --out " + filepath.Join(dir, name) + " " + line
		if out, err := harness.Execute(root(), strings.Fields(line)...); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	for _, name := range []string{"disk", "tables"} {
		sameParts(t, filepath.Join(dir, "memory"), filepath.Join(dir, name))
	}
	if _, err := harness.Execute(root(), "clean", work); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(work); err == nil {
		t.Error("the directory is still there")
	}
}

// sameParts fails unless two artifacts have the same files, but for the manifest, which has the time.
func sameParts(t *testing.T, a, b string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(a, "*.safetensors"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", a, err)
	}
	for _, file := range files {
		one, err1 := os.ReadFile(file)
		other, err2 := os.ReadFile(filepath.Join(b, filepath.Base(file)))
		if err1 != nil || err2 != nil || !bytes.Equal(one, other) {
			t.Errorf("%s differs in %s: %v %v", filepath.Base(file), b, err1, err2)
		}
	}
}

// Options that a run of stages cannot have are refused before the data are read.
func TestStagesRefuseBeforeTheWork(t *testing.T) {
	for line, want := range map[string]string{
		"--engine tape":                 `--engine is "tape", want memory, disk or spark`,
		"--sums some":                   `--sums is "some", want float or fixed`,
		"--engine disk --sums float":    "--sums is float: those of engine disk are always fixed",
		"--memory 1GiB":                 "--memory and --work are for --engine disk",
		"--engine disk --memory 1MiB":   `--memory is "1MiB": want 256MiB or more`,
		"--engine disk --memory much":   `--memory is "much": want a size`,
		"--engine disk --method vng":    "method is vng, a run of stages",
		"--engine disk --subgraph many": `--subgraph is "many": want a size`,
		"--sums fixed --subgraph 0":     `--subgraph is "0": want more than 0`,
		"--subgraph 1GiB":               "--subgraph is for runs of stages",
		"--sums fixed --representation": "representation is set, a run of stages",
	} {
		args := append([]string{"train", "--out", filepath.Join(t.TempDir(), "a"), "--data", "no-data"},
			strings.Fields(line)...)
		expect.Error(t, expect.ErrorOf(harness.Execute(root(), args...)), want, "%s", line)
	}
}
