package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/propagation"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// weightsOf writes a model's weights to a safetensors file, as rivulet_mcond.export_model does.
func weightsOf(t *testing.T, m artifact.Model) string {
	t.Helper()
	header, data := map[string]any{}, []byte{}
	for _, p := range m.Params {
		begin := len(data)
		for _, v := range p.Value.Data {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		header[p.Name] = map[string]any{"dtype": "F32", "shape": []int{p.Value.Rows, p.Value.Cols},
			"data_offsets": []int{begin, len(data)}}
	}
	text, err := json.Marshal(header)
	expect.OK(t, err)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	file := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), data...)
	expect.OK(t, os.WriteFile(path, file, 0o600))
	return path
}

const importData = " --preset small --preset-nodes 600 --nodes 18 --costs=false "

func runLine(t *testing.T, line string) string {
	t.Helper()
	out, err := harness.Execute(root(), strings.Fields(line)...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

// accuracies of a report by setting and batch, without propagation.
func accuracies(t *testing.T, out, model string) map[string]float64 {
	t.Helper()
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	found := map[string]float64{}
	for _, row := range r.Results {
		if row.Model == model && row.Calibration == propagation.None && !row.SharedM && !row.Own {
			found[row.Setting+" "+row.Batch] = row.Score("accuracy").Mean
		}
	}
	return found
}

// Weights that were trained elsewhere become W_O of an artifact: Whole answers as it did there. Two files become two
// models of one artifact.
func TestImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trained := runLine(t, "train --costs=false --own never --models gcn,sage --hidden 16 --preprocess none --json --out "+dir+
		"/trained"+fewDecays+importData)
	of, err := artifact.Read(dir + "/trained")
	expect.OK(t, err)
	gcn := weightsOf(t, of.Models[0])
	sage := weightsOf(t, of.Models[1])

	out := runLine(t, "import --weights "+gcn+" --model gcn --json --out "+dir+"/gcn"+importData)
	want, got := accuracies(t, trained, "gcn"), accuracies(t, out, "gcn")
	for _, where := range []string{"O->O graph", "O->O node"} {
		if got[where] == 0 || got[where] != want[where] {
			t.Errorf("%s: %.3f%%, where it was trained %.3f%%", where, got[where], want[where])
		}
	}
	if got["O->S node"] < got["O->O node"]-5 || len(got) < 8 {
		t.Errorf("accuracies %v", got)
	}
	var report importReport
	expect.OK(t, json.Unmarshal([]byte(out), &report))
	if w := report.Weights; len(w) != 1 || w[0].Model != "gcn" || w[0].File != gcn {
		t.Errorf("weights %v", w)
	}

	runLine(t, "import --weights "+gcn+" --model gcn --propagate=false --json --out "+dir+"/bare"+importData)
	if n, with := len(readArtifact(t, dir+"/bare").Manifest.Models[0].Propagation),
		len(readArtifact(t, dir+"/gcn").Manifest.Models[0].Propagation); n != 0 || with == 0 {
		t.Errorf("%d propagations with --propagate=false, %d without", n, with)
	}

	text := runLine(t, "import --weights "+gcn+" --model gcn --weights "+sage+" --model sage --out "+dir+"/both"+importData)
	for _, part := range []string{"gcn from " + gcn, "sage from " + sage} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	after := readArtifact(t, dir+"/both")
	if len(after.Models) != 2 || after.Manifest.DefaultModel != "gcn" {
		t.Errorf("%d models, default %s", len(after.Models), after.Manifest.DefaultModel)
	}
	if !bytes.Equal(bits(after.Models[1].Params), bits(of.Models[1].Params)) {
		t.Error("the weights of sage are not those of its file")
	}
}

// A model of random weights is served as it was imported. An expert of own features and a propagation are added only
// if flags ask for them, and the line "served:" names them.
func TestImportServesWhatWasImported(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	runLine(t, "train --costs=false --own never --preprocess none --out "+dir+"/trained"+importData)
	wrong := readArtifact(t, dir+"/trained").Models[0]
	for _, p := range wrong.Params {
		for k := range p.Value.Data {
			p.Value.Data[k] = float32(r.NormFloat64())
		}
	}
	line := "import --force --costs=false --weights " + weightsOf(t, wrong) + " --model sgc" + importData + "--out " + dir
	for name, of := range map[string]struct {
		flags string
		own   bool
		kind  string
	}{
		"alone": {"", false, propagation.None}, "own": {" --own auto", true, propagation.None},
		"always": {" --own always --map=false", true, propagation.None},
		"ep":     {" --propagate", false, propagation.Errors},
	} {
		out := runLine(t, line+"/"+name+of.flags)
		b := readArtifact(t, dir+"/"+name)
		served := b.Manifest.Models[0]
		if served.Own.Answers() != of.own || b.Manifest.HasOwn() != of.own || served.Calibration.Kind != of.kind ||
			len(served.Propagation) == 0 || (b.Map != nil) == (name == "always") {
			t.Errorf("%s: own features %v, calibration %s, map %v", name, served.Own, served.Calibration.Kind, b.Map != nil)
		}
		at := strings.Index(out, "served: ")
		says, _, _ := strings.Cut(out[at:], "\n")
		if strings.Contains(says, "own features") != of.own || !strings.Contains(says, "validation nodes)") ||
			strings.Contains(says, "error propagation") != (of.kind != propagation.None) {
			t.Errorf("%s: %s", name, says)
		}
	}
}

func readArtifact(t *testing.T, dir string) *artifact.Bundle {
	t.Helper()
	b, err := artifact.Read(dir)
	expect.OK(t, err)
	return b
}

func bits(params []infer.Param) (out []byte) {
	for _, p := range params {
		for _, v := range p.Value.Data {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	}
	return out
}

func TestImportRefuses(t *testing.T) {
	dir := t.TempDir()
	runLine(t, "train --costs=false --own never --preprocess none --out "+dir+"/sgc"+importData)
	sgc := weightsOf(t, readArtifact(t, dir+"/sgc").Models[0])
	line := "import --out " + dir + "/out --weights " + sgc + " --model "
	for want, line := range map[string]string{
		`required flag(s) "model", "weights" not set`: "import --out x",
		`--weights is given 1 times and --model 2`:    line + "sgc --model gcn" + importData,
		`no data set: give --data DIR`:                line + "sgc",
		`--preprocess is auto`:                        line + "sgc --preprocess auto" + importData,
		`models[0] is "gat"`:                          line + "gat" + importData,
		`building sage`:                               line + "sage" + importData,
		`the data have 602 features`:                  line + "sgc --preset reddit --preset-nodes 2000",
		`is not empty`: strings.Replace(line, dir+"/out", dir+"/sgc", 1) + "sgc" +
			importData,
	} {
		if out, err := harness.Execute(root(), strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q\n%s", line, err, want, out)
		}
	}
}
