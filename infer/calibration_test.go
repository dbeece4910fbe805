package infer_test

import (
	"math"
	"strings"
	"sync"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

// wantError checks an error against a part of its text; "" wants none.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil {
		t.Errorf("error %v, want none", err)
	}
	if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestCalibrationValidate(t *testing.T) {
	good := infer.Calibration{Temperature: 1.5, Kind: propagation.Errors, Alpha: 0.5, Gamma: 0}
	for name, tc := range map[string]struct {
		change func(c *infer.Calibration)
		want   string
	}{
		"good":                  {func(*infer.Calibration) {}, ""},
		"none ignores the rest": {func(c *infer.Calibration) { c.Kind, c.Alpha, c.Gamma = propagation.None, 9, -1 }, ""},
		"labels":                {func(c *infer.Calibration) { c.Kind = propagation.Labels }, ""},
		"no kind": {func(c *infer.Calibration) {
			c.Kind = ""
		}, `calibration.kind is "", want none, lp or ep`},
		"kind":             {func(c *infer.Calibration) { c.Kind = "mc" }, `calibration.kind is "mc"`},
		"zero temperature": {func(c *infer.Calibration) { c.Temperature = 0 }, "calibration.temperature is 0"},
		"temperature of none": {func(c *infer.Calibration) {
			c.Kind, c.Temperature = propagation.None, -1
		}, "calibration.temperature is -1"},
		"NaN temperature":      {func(c *infer.Calibration) { c.Temperature = nan }, "calibration.temperature is NaN"},
		"infinite temperature": {func(c *infer.Calibration) { c.Temperature = inf }, "calibration.temperature is +Inf"},
		"alpha 0":              {func(c *infer.Calibration) { c.Alpha = 0 }, "calibration.alpha is 0, want between 0 and 1"},
		"alpha 1":              {func(c *infer.Calibration) { c.Alpha = 1 }, "calibration.alpha is 1"},
		"NaN alpha":            {func(c *infer.Calibration) { c.Alpha = nan }, "calibration.alpha is NaN"},
		"negative gamma":       {func(c *infer.Calibration) { c.Gamma = -0.5 }, "calibration.gamma is -0.5, want 0 or more"},
		"NaN gamma":            {func(c *infer.Calibration) { c.Gamma = nan }, "calibration.gamma is NaN"},
		"infinite gamma":       {func(c *infer.Calibration) { c.Gamma = inf }, "calibration.gamma is +Inf"},
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			tc.change(&c)
			wantError(t, c.Validate(), tc.want)
		})
	}
}

func TestPreprocessValidate(t *testing.T) {
	const d = 2
	for name, tc := range map[string]struct {
		pre  preprocess.Parameters
		want string
	}{
		"none":      {preprocess.Parameters{Kind: preprocess.None, Scale: 1}, ""},
		"l2-center": {preprocess.Parameters{Kind: preprocess.L2Center, Mean: make([]float32, d), Scale: 2}, ""},
		"standardize": {preprocess.Parameters{Kind: preprocess.Standardize, Mean: make([]float32, d), Std: []float32{1, 2},
			Scale: 2}, ""},
		"l1":             {preprocess.Parameters{Kind: preprocess.L1, Scale: 2}, ""},
		"l1 of no scale": {preprocess.Parameters{Kind: preprocess.L1}, "preprocess.scale is 0"},
		"kind": {preprocess.Parameters{Kind: "pca"},
			`preprocess.kind is "pca", want "l2-center", "l1", "standardize" or "none"`},
		"mean": {preprocess.Parameters{Kind: preprocess.L2Center, Mean: make([]float32, 3), Scale: 1},
			"preprocess.mean has 3 values, want 2"},
		"mean of NaN": {preprocess.Parameters{Kind: preprocess.L2Center, Mean: []float32{0, nan}, Scale: 1},
			"preprocess.mean[1] is NaN"},
		"infinite mean": {preprocess.Parameters{Kind: preprocess.L2Center, Mean: []float32{inf, 0}, Scale: 1},
			"preprocess.mean[0] is +Inf"},
		"std": {preprocess.Parameters{Kind: preprocess.Standardize, Mean: make([]float32, d), Std: []float32{1}, Scale: 1},
			"preprocess.std has 1 values, want 2"},
		"zero std": {preprocess.Parameters{Kind: preprocess.Standardize, Mean: make([]float32, d), Std: []float32{1, 0},
			Scale: 1}, "preprocess.std[1] is 0"},
		"std of NaN": {preprocess.Parameters{Kind: preprocess.Standardize, Mean: make([]float32, d), Std: []float32{nan, 1},
			Scale: 1}, "preprocess.std[0] is NaN"},
		"infinite std": {preprocess.Parameters{Kind: preprocess.Standardize, Mean: make([]float32, d), Std: []float32{inf, 1},
			Scale: 1}, "preprocess.std[0] is +Inf"},
		"no scale": {preprocess.Parameters{Kind: preprocess.L2Center, Mean: make([]float32, d)},
			"preprocess.scale is 0, want a positive number"},
		"infinite scale": {preprocess.Parameters{Kind: preprocess.L2Center, Mean: make([]float32, d), Scale: inf},
			"preprocess.scale is +Inf"},
		"scale not known": {preprocess.Parameters{Kind: preprocess.L2Center, Mean: make([]float32, d), Scale: nan},
			"preprocess.scale is NaN"},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, tc.pre.Validate(d), tc.want) })
	}
}

// Logits far apart neither overflow nor leave the simplex.
func TestSection6SoftmaxOfExtremes(t *testing.T) {
	row := []float32{1e30, -1e30, 1e30}
	graph.Softmax(row, row, 1e-3)
	sameBits(t, "softmax", row, []float32{0.5, 0, 0.5})
}

func TestArgMax(t *testing.T) {
	for want, row := range [][]float32{{3, 1, 3}, {1, 2, 2}, {-3, -2, -1}} {
		if got := graph.ArgMax(row); got != want {
			t.Errorf("%v: %d, want %d", row, got, want)
		}
	}
}

// One predictor answers several goroutines at once with the bits that it gives to one: run with -race.
func TestConcurrentUse(t *testing.T) {
	batch, p := flickr(64)
	_, want := p.Predict(batch)
	got := make([]*graph.Dense, 4)
	var wg sync.WaitGroup
	for k := range got {
		wg.Go(func() { _, got[k] = p.Predict(batch) })
	}
	wg.Wait()
	for _, g := range got {
		sameBits(t, "probabilities", g.Data, want.Data)
	}
}
