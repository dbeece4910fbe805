package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// notes runs the trainer and returns what it writes to standard error.
func notes(t *testing.T, args ...string) (string, error) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	expect.OK(t, err)
	stderr := os.Stderr
	os.Stderr = file
	_, failed := harness.Execute(root(), args...)
	os.Stderr = stderr
	expect.OK(t, file.Close())
	text, err := os.ReadFile(file.Name())
	expect.OK(t, err)
	return string(text), failed
}

// payments writes a graph of two classes in which edges within a class have small weights and the few others large
// ones, as amounts of money, and a column that all but tells the class.
func payments(t *testing.T) string {
	t.Helper()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(5, 5))
	const n = 300
	var edges strings.Builder
	edges.WriteString("source,target,weight\n")
	for range 4 * n {
		a, b := r.IntN(n), r.IntN(n)
		weight := 1000 * r.ExpFloat64()
		if r.Float64() < 0.8 {
			b = b/2*2 + a%2
			weight = 1 + r.Float64()
		}
		fmt.Fprintf(&edges, "%d,%d,%.3f\n", a, b%n, weight)
	}
	nodes := lines("id,label,closed_on,x\n", n, func(i int) string {
		closed := ""
		if i%2 == 1 {
			closed = "2026-01-02"
		}
		return fmt.Sprintf("%d,%d,%s,%.3f", i, i%2, closed, r.NormFloat64()+float64(i%2)/2)
	})
	expect.OK(t, os.WriteFile(filepath.Join(dir, "nodes.csv"), []byte(nodes), 0o600))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "edges.csv"), []byte(edges.String()), 0o600))
	return dir
}

// train prints the validation with and without weights, and repeats the line of check about a column that tells the
// label.
func TestTrainSaysWhatItLearnsFrom(t *testing.T) {
	dir := payments(t)
	said, err := notes(t, "train", "--data", dir, "--drop", "closed_on", "--costs=false", "--out", filepath.Join(dir, "a"))
	if err != nil || !strings.Contains(said, "warning: weights of edges: sgc has ") ||
		!strings.Contains(said, "--drop-weights leaves them out") || strings.Contains(said, "SUSPECT") {
		t.Errorf("weights that cost accuracy: %v\n%s", err, said)
	}
	said, err = notes(t, "train", "--data", dir, "--drop-weights", "--costs=false", "--out", filepath.Join(dir, "b"))
	if err != nil || strings.Contains(said, "weights of edges:") {
		t.Errorf("without weights: %v\n%s", err, said)
	}
	out, err := harness.Execute(root(), "data", "check", "--data", dir)
	expect.OK(t, err)
	suspect := ""
	for line := range strings.Lines(out) {
		if strings.Contains(line, "SUSPECT") {
			suspect = strings.TrimSpace(line)
		}
	}
	if suspect == "" || !strings.Contains(said, "warning: "+suspect) {
		t.Errorf("train does not repeat %q:\n%s", suspect, said)
	}
}

// A model that is right on fewer validation nodes than the most frequent class is refused; --force takes it.
func TestImportRefusesAnUntrainedModel(t *testing.T) {
	dir := t.TempDir()
	runLine(t, "train --costs=false --own never --models sgc --preprocess none --out "+dir+"/trained"+fewDecays+importData)
	of, err := artifact.Read(dir + "/trained")
	expect.OK(t, err)
	for _, p := range of.Models[0].Params {
		for k := range p.Value.Data {
			p.Value.Data[k] = -p.Value.Data[k] // the most probable class is the least probable one
		}
	}
	line := strings.Fields("import --weights " + weightsOf(t, of.Models[0]) + " --model sgc --out " + dir + "/out" + importData)
	_, err = harness.Execute(root(), line...)
	expect.Error(t, err, "of the validation nodes, and the most frequent class on")
	expect.Error(t, err, "with --preprocess none? --force takes it")
	if _, err := os.Stat(dir + "/out"); err == nil {
		t.Error("an artifact is written")
	}
	said, err := notes(t, append(line, "--force")...)
	if err != nil || !strings.Contains(said, "warning: sgc is right on") {
		t.Errorf("--force: %v\n%s", err, said)
	}
	if _, err := artifact.Read(dir + "/out"); err != nil {
		t.Error(err)
	}
}
