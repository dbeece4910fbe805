package infer_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/propagation"
	"rivulet/test/expect"
)

var update = flag.Bool("update", false, "write the files of testdata that this code makes anew")

// G4: The bits of served predictions stay: five models, joint and frozen, in node and graph batches, of dense and
// sparse features, on S of the known answers. A change of these bits is a change of a promise, so testdata/bits.txt is
// written anew (-update) only by a commit that says why. The bits hold for amd64, whose compiler fuses no multiply-add.
func TestBitsOfPredictionsStay(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the kept bits are those of amd64")
	}
	g := readGolden(t)
	var out strings.Builder
	for _, name := range []string{"sgc", "gcn", "sage", "appnp", "cheby"} {
		m := g.model(t, name)
		adj, x, _ := g.nodes("S")
		hops := 2
		if name == "appnp" {
			hops = 10
		}
		deployments := map[string]infer.Deployment{"joint": m.Joint(adj, x, g.pre),
			"frozen": m.Frozen(g.tables(name, "S", hops), g.pre)}
		for _, attachment := range []string{"joint", "frozen"} {
			for _, kind := range []string{"node", "graph"} {
				for _, form := range []string{"dense", "sparse"} {
					b := g.batch("S", kind)
					if form == "sparse" {
						raw := g.Matrix("x")
						b.X = graph.Features{Sparse: sparse(raw, len(raw), raw.Cols())}
					}
					p := infer.Predictor{Model: deployments[attachment],
						Calibration: infer.Calibration{Temperature: 1.5, Kind: propagation.None}}
					logits, probabilities := p.Predict(b)
					fmt.Fprintf(&out, "%s %s %s %s logits%s\n", name, attachment, kind, form, hex(logits.Data))
					fmt.Fprintf(&out, "%s %s %s %s probabilities%s\n", name, attachment, kind, form, hex(probabilities.Data))
				}
			}
		}
	}
	compareKept(t, "bits.txt", out.String())
}

func hex(values []float32) string {
	var out strings.Builder
	for _, v := range values {
		fmt.Fprintf(&out, " %08x", math.Float32bits(v))
	}
	return out.String()
}

// compareKept compares a text, line by line, with a file of testdata; -update writes the file.
func compareKept(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		expect.OK(t, os.WriteFile(file, []byte(got), 0o644))
	}
	kept, err := os.ReadFile(file)
	expect.OK(t, err)
	want := strings.Split(string(kept), "\n")
	lines := strings.Split(got, "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, %s has %d", len(lines), file, len(want))
	}
	for i := range lines {
		if lines[i] != want[i] {
			t.Errorf("line %d of %s:\nkept %s\n got %s", i+1, file, want[i], lines[i])
		}
	}
}
