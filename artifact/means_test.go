package artifact_test

import (
	"bytes"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/artifact/baseline"
	"rivulet/graph"
	"rivulet/test/expect"
)

const meansName = "means.safetensors"

func withMeans(seed uint64) *artifact.Bundle {
	b := artifacttest.Bundle(seed, artifacttest.Size{})
	b.Means = artifacttest.Means(seed, b)
	return b
}

func TestMeansAreReadAlone(t *testing.T) {
	b := withMeans(1)
	dir := mustWrite(t, b)
	if !b.Manifest.HasMeans() {
		t.Error("the manifest does not know of the means that were written")
	}
	means, err := artifact.ReadMeans(dir)
	expect.OK(t, err)
	if diff := cmp.Diff(b.Means, means); diff != "" {
		t.Errorf("means differ (-written +read):\n%s", diff)
	}
	got, err := artifact.Read(dir)
	expect.OK(t, err)
	want := *b
	want.Means = nil
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("read differs from written without means (-written +read):\n%s", diff)
	}

	_, err = artifact.ReadMeans(mustWrite(t, artifacttest.Bundle(1, artifacttest.Size{})))
	wantError(t, err, meansName+": the artifact has none")
}

// Every part that is nobody's but the trainer's stays out of the serving part, which is the same whether it was read
// or not.
func TestMeansAreNotServed(t *testing.T) {
	b := withMeans(2)
	dir := mustWrite(t, b)
	read, err := artifact.Read(dir)
	expect.OK(t, err)
	var parts []map[string][]byte
	for _, from := range []*artifact.Bundle{b, read} {
		files, err := artifact.EncodeServing(from)
		expect.OK(t, err)
		parts = append(parts, files)
	}
	if _, ok := parts[0][meansName]; ok {
		t.Error("the means are in the serving part")
	}
	if !maps.EqualFunc(parts[0], parts[1], bytes.Equal) {
		t.Errorf("the serving part depends on whether the means are in memory:\n%s", cmp.Diff(parts[0], parts[1]))
	}
	// A later build may list files that it keeps out of the serving part, too.
	text := strings.Replace(string(parts[0]["manifest.json"]), `"files": {`,
		`"files": {"reserve.safetensors": {"sha256": "`+strings.Repeat("0f", 32)+`", "bytes": 16},`, 1)
	later := maps.Clone(parts[0])
	later["manifest.json"] = []byte(text)
	artifact.Resign(later)
	if _, err := artifact.DecodeServing(later); err != nil {
		t.Errorf("a file that this build does not know is missing: %v", err)
	}
	later["reserve.safetensors"] = []byte("sixteen bytes of")
	_, err = artifact.DecodeServing(later)
	wantError(t, err, "reserve.safetensors: SHA-256")

	served, err := artifact.DecodeServing(parts[0])
	expect.OK(t, err)
	if served.Means != nil || !served.Manifest.HasMeans() {
		t.Errorf("the serving part has means: %v, and its manifest knows of them: %v", served.Means,
			served.Manifest.HasMeans())
	}
}

// An artifact that was read without its means is not written as if it had them.
func TestWriteRefusesAPartOfAnArtifact(t *testing.T) {
	b, err := artifact.Read(mustWrite(t, withMeans(3)))
	expect.OK(t, err)
	dir := filepath.Join(t.TempDir(), "a")
	wantError(t, artifact.Write(dir, b), meansName+": the manifest lists it and the bundle does not hold it")
	b.Manifest.Files, b.Manifest.Version = nil, ""
	if err := artifact.Write(dir, b); err != nil {
		t.Errorf("without them: %v", err)
	}
	if b.Manifest.HasMeans() {
		t.Error("the manifest lists means that are not there")
	}
}

// Damage of the means is found by Read, which does not load them, too.
func TestReadRefusesDamagedMeans(t *testing.T) {
	dir := mustWrite(t, withMeans(4))
	path := filepath.Join(dir, meansName)
	data, err := os.ReadFile(path)
	expect.OK(t, err)
	flipped := slices.Clone(data)
	flipped[len(flipped)-3] ^= 4
	for _, tc := range map[string]struct {
		data []byte
		want string
	}{
		"changed":   {flipped, "SHA-256"},
		"torn":      {data[:len(data)/2], "torn or changed"},
		"continued": {append(slices.Clone(data), 0), "torn or changed"},
	} {
		expect.OK(t, os.WriteFile(path, tc.data, 0o666))
		_, err := artifact.Read(dir)
		wantError(t, err, meansName, tc.want)
		_, err = artifact.ReadMeans(dir)
		wantError(t, err, meansName, tc.want)
	}
	expect.OK(t, os.Remove(path))
	_, err = artifact.Read(dir)
	wantError(t, err, meansName+": missing, the manifest lists it")
}

func TestInvalidMeans(t *testing.T) {
	for want, change := range map[string]func(m *artifact.Means){
		meansName + ": x: 20 values of shape 4×5, want 6×5": func(m *artifact.Means) { m.X = graph.NewDense(4, 5) },
		meansName + ": x: row 1, column 2 is NaN":           func(m *artifact.Means) { m.X.Data[7] = float32(math.NaN()) },
		meansName + ": no means of any operator":            func(m *artifact.Means) { clear(m.Operators) },
		meansName + `: operator "appnp" is not one of`: func(m *artifact.Means) {
			m.Operators["appnp"] = m.Operators["gcn"]
		},
		meansName + ": gcn.px: 30 values of shape 5×6": func(m *artifact.Means) {
			*m.Operators["gcn"].PX = *graph.NewDense(5, 6)
		},
		meansName + ": sage.scaled: row 0, column 0 is +Inf": func(m *artifact.Means) {
			m.Operators["sage"].Scaled.Data[0] = float32(math.Inf(1))
		},
		meansName + ": cheby.scale: value 2 is -1, want 0 or more": func(m *artifact.Means) {
			m.Operators["cheby"].Scale[2] = -1
		},
		meansName + ": cheby.back: value 3 is NaN": func(m *artifact.Means) {
			m.Operators["cheby"].Back[3] = float32(math.NaN())
		},
		meansName + ": gcn.back: 5 values, want 6": func(m *artifact.Means) {
			of := m.Operators["gcn"]
			of.Back = of.Back[1:]
			m.Operators["gcn"] = of
		},
	} {
		b := withMeans(5)
		change(b.Means)
		wantError(t, b.Seal(), want)
	}
}

// What a file says of its shapes is compared with the manifest, tensor by tensor.
func TestDecodeRefusesMeansOfOtherShapes(t *testing.T) {
	for want, change := range map[string]func(m *artifact.Means){
		`tensor "x" has shape [4 5], want [6 5]`: func(m *artifact.Means) { m.X = graph.NewDense(4, 5) },
		`tensor "gcn.px" has shape [6 4]`:        func(m *artifact.Means) { *m.Operators["gcn"].PX = *graph.NewDense(6, 4) },
		`tensor "sage.scaled" has shape [5 5]`: func(m *artifact.Means) {
			*m.Operators["sage"].Scaled = *graph.NewDense(5, 5)
		},
		`tensor "cheby.scale" has shape [0]`: func(m *artifact.Means) {
			set(m, "cheby", func(o *artifact.OperatorMeans) { o.Scale = nil })
		},
		`tensor "cheby.back" has shape [7], want [`: func(m *artifact.Means) {
			set(m, "cheby", func(o *artifact.OperatorMeans) { o.Back = make([]float32, 7) })
		},
	} {
		b := withMeans(6)
		change(b.Means)
		wantDecodeError(t, b, meansName, want)
	}
}

func set(m *artifact.Means, operator string, change func(o *artifact.OperatorMeans)) {
	of := m.Operators[operator]
	change(&of)
	m.Operators[operator] = of
}

// Features and confidence are read as they were written, and both are in the serving part.
func TestFeaturesAndConfidence(t *testing.T) {
	b := artifacttest.Bundle(7, artifacttest.Size{})
	b.Models[0].Features = artifacttest.Features(b)
	info := &b.Manifest.Models[0]
	info.Calibration.Confidence = artifacttest.Confidence()
	lp := info.Propagation["lp"]
	lp.Confidence = baseline.Confidence{ECE: baseline.CalibrationError{TestBefore: new(1.5)}}
	info.Propagation["lp"] = lp
	dir := mustWrite(t, b)
	got, err := artifact.Read(dir)
	expect.OK(t, err)
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("read differs from written (-written +read):\n%s", diff)
	}
	serving, err := artifact.EncodeServing(got)
	expect.OK(t, err)
	part, err := artifact.DecodeServing(serving)
	expect.OK(t, err)
	if diff := cmp.Diff(b.Models, part.Models); diff != "" {
		t.Errorf("models of the serving part (-written +served):\n%s", diff)
	}
	text := string(serving["manifest.json"])
	if n := strings.Count(text, `"confidence"`); n != 2 || strings.Contains(text, "null") {
		t.Errorf("the manifest has %d confidences where 2 were measured, or a null:\n%s", n, text)
	}
}

func TestInvalidFeatures(t *testing.T) {
	file := "models/sgc.safetensors"
	for want, change := range map[string]func(b *artifact.Bundle){
		file + `: 1 tensors features.u0, …, want 2`: func(b *artifact.Bundle) {
			b.Models[0].Features.U = b.Models[0].Features.U[:1]
		},
		file + ": tensor features.u1: 18 values of shape 6×3": func(b *artifact.Bundle) {
			b.Models[0].Features.U[1] = graph.NewDense(6, 3)
		},
		file + `: tensor "features.c": present is false`: func(b *artifact.Bundle) {
			b.Models[0].Features.C = nil
		},
		file + ": tensor features.u0: row 0, column 1 is -Inf": func(b *artifact.Bundle) {
			b.Models[0].Features.U[0].Data[1] = float32(math.Inf(-1))
		},
		file + `: weight "features.bias" has the name of a table`: func(b *artifact.Bundle) {
			b.Models[0].Params[1].Name = "features.bias"
		},
		`models/gcn.safetensors: tensor "features.u0" is there, only`: func(b *artifact.Bundle) {
			b.Models[1].Features = b.Models[0].Features
		},
	} {
		b := artifacttest.Several(8, artifacttest.Size{})
		b.Models[0].Features = artifacttest.Features(b)
		change(b)
		wantError(t, b.Seal(), want)
	}
}

func TestThresholdAt(t *testing.T) {
	c := artifacttest.Confidence()
	for coverage, want := range map[float64]float32{0.5: 0.9, 0.75: 0.6, 1: 0.3, 0.625: 0.75, 0.875: 0.45} {
		got, err := c.ThresholdAt(coverage)
		if err != nil || math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("threshold at %v is %v, %v, want %v", coverage, got, err, want)
		}
	}
	for _, coverage := range []float64{0, 0.49, 1.01, math.NaN()} {
		_, err := c.ThresholdAt(coverage)
		wantError(t, err, "coverage is", "goes from 0.5 to 1")
	}
	_, err := (&baseline.Confidence{Coverage: 0.9, Threshold: 0.5}).ThresholdAt(0.9)
	wantError(t, err, baseline.ErrNoCurve.Error())
}
