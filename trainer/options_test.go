package trainer

import (
	"math"
	"slices"
	"testing"

	"rivulet/test/expect"
)

func TestOptionsRefuse(t *testing.T) {
	for want, change := range map[string]func(o *Options){
		`method is "magic"`:                      func(o *Options) { o.Method = "magic" },
		"nodes is -1":                            func(o *Options) { o.Nodes = -1 },
		"ratio is -0.1":                          func(o *Options) { o.Ratio = -0.1 },
		"ratio is 1,":                            func(o *Options) { o.Ratio = 1 },
		"ratio is NaN":                           func(o *Options) { o.Ratio = math.NaN() },
		"both nodes (5) and ratio (0.1) are set": func(o *Options) { o.Nodes, o.Ratio = 5, 0.1 },
		"entries is 0":                           func(o *Options) { o.Entries = 0 },
		"batch is 0":                             func(o *Options) { o.Batch = 0 },
		"weight_decays[1] is 0":                  func(o *Options) { o.WeightDecays = []float64{1, 0} },
		`preprocess is "whiten"`:                 func(o *Options) { o.Preprocess = "whiten" },
	} {
		o := Defaults()
		if err := o.Validate(); err != nil {
			t.Fatalf("defaults: %v", err)
		}
		change(&o)
		expect.Error(t, o.Validate(), want)
	}
}

func TestSyntheticNodes(t *testing.T) {
	for _, c := range []struct {
		o                    Options
		n, labelled, present int
		types, want          int
	}{
		{Options{Nodes: 38}, 3825, 3825, 8, 0, 38},
		{Options{Ratio: 0.01}, 3825, 3825, 8, 0, 38},
		{Options{Ratio: 0.001}, 100, 100, 2, 0, 1},
		{Options{}, 44625, 44625, 7, 0, 446}, // a hundredth
		{Options{}, 3825, 3825, 8, 0, 80},    // ten a class
		{Options{}, 1208, 140, 7, 0, 70},     // half of the labelled nodes
		{Options{}, 20000, 60, 3, 0, 60},     // no more than the labelled nodes
		{Options{}, 30, 7, 5, 0, 5},          // one a class
		{Options{}, 8967, 8967, 37, 5, 1850}, // ten a class and type of edges
		{Options{}, 600, 600, 8, 32, 300},    // half of the labelled nodes
	} {
		if got := c.o.syntheticNodes(c.n, c.labelled, c.present, c.types); got != c.want {
			t.Errorf("%+v of %d nodes, %d labelled: N' = %d, want %d", c.o, c.n, c.labelled, got, c.want)
		}
	}
}

func TestDecaysAreStrongestFirst(t *testing.T) {
	if got := (Options{WeightDecays: []float64{1e-4, 1e-2, 1e-3}}).decays("sgc"); !slices.Equal(got,
		[]float64{1e-2, 1e-3, 1e-4}) {
		t.Errorf("decays %v", got)
	}
	if got := (Options{}).decays("sgc"); !slices.Equal(got, WeightDecays) {
		t.Errorf("decays %v, want the default ones", got)
	}
}
