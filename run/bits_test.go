package run

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/internal/replay"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/trainer"
)

var update = flag.Bool("update", false, "write testdata/predictions.txt anew")

const keptPredictions = "testdata/predictions.txt"

// generated is the demo's generated graph, and the artifact that training makes of it.
func generated(t *testing.T) (*dataset.Dataset, *artifact.Bundle) {
	t.Helper()
	preset, _ := generate.Preset("small")
	d, err := generate.Graph(preset, 0)
	expect.OK(t, err)
	return d, trained(t, d)
}

// trained makes an artifact whose model answers alone: TestPredictionsStay keeps its bits.
func trained(t *testing.T, d *dataset.Dataset) *artifact.Bundle {
	t.Helper()
	o := trainer.Defaults()
	o.Costs, o.Own = false, trainer.OwnNever
	out, err := trainer.Train(t.Context(), d, o, time.Unix(0, 0), trainer.Silent{})
	expect.OK(t, err)
	expect.OK(t, out.Bundle.Seal())
	return out.Bundle
}

// G4: The 1,500 predictions of the demo's generated graph, on the path that the consumer takes, stay what they are:
// class, bits of the probability, and counts of neighbours of each arrival, in graph batches of 256.
// testdata/predictions.txt is written anew (-update) only by a commit that says why.
func TestPredictionsStay(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the kept bits are those of amd64")
	}
	d, b := generated(t)
	v, _, err := serving.New(b, mapping.FromArtifact(b.Mapping), serving.Options{})
	expect.OK(t, err)
	var lines, answers bytes.Buffer
	if _, err := replay.Replay(t.Context(), replay.TestNodes(d), &replay.Lines{W: &lines},
		replay.Options{Chunk: 250}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := PredictLines(t.Context(), versions{serving.Pinned(v)}, &lines, &answers,
		LineOptions{Mode: attach.Graph, Batch: 256}); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range bytes.Lines(answers.Bytes()) {
		var p event.Prediction
		expect.OK(t, (json.Codec{}).DecodePrediction(line, &p))
		fmt.Fprintf(&got, "%s %d %08x %d %d %d\n", p.ID, p.Class, math.Float32bits(p.Probability), p.Known, p.InBatch,
			p.Unknown)
	}
	if *update {
		expect.OK(t, os.WriteFile(keptPredictions, []byte(got.String()), 0o644))
	}
	text, err := os.ReadFile(keptPredictions)
	expect.OK(t, err)
	want, have := strings.Split(string(text), "\n"), strings.Split(got.String(), "\n")
	if len(have) != len(want) || len(want) != 1501 {
		t.Fatalf("%d lines, kept are %d, want 1500 predictions", len(have), len(want))
	}
	for i := range want {
		if have[i] != want[i] {
			t.Errorf("arrival %d: kept %s, got %s", i, want[i], have[i])
		}
	}
}
