package prequential

import (
	"context"
	"fmt"
	"math"

	"rivulet/dataset"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

// Alarms.
const (
	// CondenseAnew says that S answers other than T does with the same weights: S and M lack what has arrived.
	CondenseAnew = "condense anew"
	// Retrain says that the version answers fewer arrivals right than it answered validation nodes: its weights are those
	// of another time.
	Retrain = "retrain"
	// Outgrown says that many nodes have arrived since the version was made, and with them labels to learn from. Where a
	// model has few labels it becomes better by them although nothing has become worse.
	Outgrown = "outgrown"
)

// Bounds say when a version no longer fits its stream.
type Bounds struct {
	// Agreement is the least share of the newest arrivals, in percent, that S has to answer as T does with the arrivals in
	// it and the same weights.
	Agreement float64
	// Drop is how many points the accuracy of the newest labelled arrivals may be below the accuracy of the validation
	// nodes when the version was made.
	Drop float64
	// Growth is the share of T's nodes that have to arrive after a version was made before its accuracy raises an alarm:
	// of fewer nodes a new version would learn little.
	Growth float64
	// MostGrowth is the share of T's nodes that may arrive before that alone is an alarm.
	MostGrowth float64
	// Sample is the number of newest arrivals over which agreement is measured. Accuracy is measured over a quarter as
	// many of the newest labelled ones: a class that changes suddenly must not be hidden behind the arrivals before it.
	Sample int
	// Batch is the number of arrivals of a micro-batch.
	Batch int
	// Grow says that consumers give arrivals rows of M (attach.arrivals).
	Grow bool
}

// DefaultBounds returns the bounds that hold if nothing is said. At a growth of a seventh five of the eleven refreshes
// are made that a stream of twelve chunks has on a schedule (docs/prequential.md).
func DefaultBounds() Bounds {
	return Bounds{Agreement: 90, Drop: 3, Growth: 0.14, MostGrowth: 0.14, Sample: 256, Batch: 64}
}

// Validate returns an error that names a bound out of range.
func (b Bounds) Validate() error {
	switch {
	case !(b.Agreement >= 0 && b.Agreement <= 100):
		return fmt.Errorf("agreement is %g, want 0 to 100 percent", b.Agreement)
	case !(b.Drop >= 0 && b.Drop <= 100):
		return fmt.Errorf("drop is %g, want 0 to 100 points", b.Drop)
	case !(b.Growth >= 0 && b.MostGrowth >= b.Growth):
		return fmt.Errorf("growth is %g and at most %g, want 0 or more and at least as much", b.Growth, b.MostGrowth)
	case b.Sample < 1:
		return fmt.Errorf("sample is %d, want at least 1", b.Sample)
	case b.Batch < 1:
		return fmt.Errorf("micro-batch is %d, want at least 1", b.Batch)
	}
	return nil
}

// Figures are the measurements that raise alarms. Accuracies and shares are in percent.
type Figures struct {
	Arrivals  int      `json:"arrivals"`  // since the version was made
	Growth    float64  `json:"growth"`    // the same as a share of T's nodes
	Compared  int      `json:"compared"`  // newest arrivals that were predicted on S and on T
	Agreement float64  `json:"agreement"` // of these
	Labelled  int      `json:"labelled"`  // newest arrivals whose class is known
	Accuracy  float64  `json:"accuracy"`  // of these
	Reference float64  `json:"reference"` // accuracy of the validation nodes when the version was made
	Alarms    []string `json:"alarms,omitempty"`
}

// Judge follows a version over all arrivals since it was made and returns the alarms. d has the graph T of the version
// as its training and unlabelled nodes, and the arrivals in no role, in the order of their arrival; the label of one is
// its class, or -1 as long as that is not known. The version must be fresh.
func Judge(ctx context.Context, d *dataset.Dataset, arrivals []int32, v *Version, b Bounds,
	progress trainer.Progress) (*Figures, error) {
	f := &Figures{Arrivals: len(arrivals), Compared: min(b.Sample, len(arrivals)),
		Growth: 100 * float64(len(arrivals)) / float64(len(d.Train)+len(d.Unlabelled))}
	if m := v.Bundle.Manifest; m.Reference.Models != nil {
		f.Reference = m.Reference.Models[m.DefaultModel].Accuracy
	}
	if len(arrivals) == 0 {
		return f, nil
	}
	onS, err := Replay(ctx, d, v, arrivals, b.Batch, b.Grow)
	if err != nil {
		return nil, err
	}
	from := len(arrivals) - f.Compared
	onT, err := eval.WholeGrowing(ctx, d, v.Bundle, arrivals, from, b.Batch, true, progress)
	if err != nil {
		return nil, err
	}
	f.Agreement = share(onT, onS.Class[from:])
	right := 0
	for k := len(arrivals) - 1; k >= 0 && f.Labelled < (b.Sample+3)/4; k-- {
		y := d.Labels[arrivals[k]]
		if y < 0 {
			continue
		}
		f.Labelled++
		if y == onS.Class[k] {
			right++
		}
	}
	f.Accuracy = 100 * float64(right) / float64(max(1, f.Labelled))
	f.raise(b)
	return f, nil
}

// raise sets the alarms. Few labels raise none by chance: the accuracy has to be below the bound by a one-sided test.
func (f *Figures) raise(b Bounds) {
	if f.Agreement < b.Agreement {
		f.Alarms = append(f.Alarms, CondenseAnew)
	}
	const oneSided = 1.645 // of the normal distribution, 5%
	chance := oneSided * math.Sqrt(f.Accuracy*(100-f.Accuracy)/float64(max(1, f.Labelled)))
	if f.Labelled > 0 && f.Growth >= 100*b.Growth && f.Accuracy < f.Reference-math.Max(b.Drop, chance) {
		f.Alarms = append(f.Alarms, Retrain)
	}
	if f.Growth >= 100*b.MostGrowth {
		f.Alarms = append(f.Alarms, Outgrown)
	}
}

// share returns the percentage of places at which two lists are equal.
func share(a, b []int32) float64 {
	n := 0
	for k := range a {
		if a[k] == b[k] {
			n++
		}
	}
	return 100 * float64(n) / float64(max(1, len(a)))
}
