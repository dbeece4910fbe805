package prequential

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"rivulet/dataset"
	"rivulet/trainer"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
)

// Options of a run.
type Options struct {
	Run    trainer.Options // of each training
	First  float64         // share of the nodes that are there from the start, of which an eighth validates
	Chunks int             // into which the others are cut; between two of them versions are refreshed
	// Delay is the number of chunks after which the labels of a chunk are known: 1 means before the next one arrives.
	Delay  int
	Bounds Bounds // of the alarms
}

// Defaults returns the options that hold if nothing is said.
func Defaults() Options {
	o := Options{Run: trainer.Defaults(), First: 0.4, Chunks: 12, Delay: 1, Bounds: DefaultBounds()}
	o.Bounds.Grow = true
	return o
}

// Validate returns an error that names an option out of range.
func (o *Options) Validate() error {
	switch {
	case !(o.First > 0 && o.First < 1):
		return fmt.Errorf("first is %g, want more than 0 and less than 1", o.First)
	case o.Chunks < 2:
		return fmt.Errorf("chunks is %d, want at least 2", o.Chunks)
	case o.Delay < 1:
		return fmt.Errorf("label delay is %d chunks, want at least 1", o.Delay)
	}
	return errors.Join(o.Run.Validate(), o.Bounds.Validate())
}

// Random streams, apart from those of the trainings.
const (
	purposeWalk       = 11
	purposeValidation = 12
)

// validationShare is one in how many nodes of the start that validates.
const validationShare = 8

// stream is a data set whose nodes stand in the order of their arrival.
type stream struct {
	Options
	data              *dataset.Dataset
	cuts              []int   // where chunks begin and the last one ends
	train, validation []int32 // of the start
	progress          trainer.Progress
}

// Run judges a data set's nodes in the order of their arrival.
func Run(ctx context.Context, d *dataset.Dataset, o Options, progress trainer.Progress) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	out, err := run(ctx, d, o, progress)
	if err != nil {
		return nil, fmt.Errorf("judging %s in its order: %w", d.Name, err)
	}
	return out, nil
}

func run(ctx context.Context, d *dataset.Dataset, o Options, progress trainer.Progress) (*Result, error) {
	if err := d.RequirePlain("evaluation in order"); err != nil {
		return nil, err
	}
	out := &Result{Order: ByTime, Seed: o.Run.Seed, Delay: o.Delay}
	var order []int32
	if d.Times != nil {
		order = byTime(d.Times)
	} else {
		out.Order, order = ByWalk, walk(d, rand.New(rand.NewPCG(o.Run.Seed, purposeWalk)))
	}
	s := &stream{Options: o, progress: progress}
	if err := s.start(d, order); err != nil {
		return nil, err
	}
	out.First = s.cuts[0]
	first, err := s.version(ctx, 0)
	if err != nil {
		return nil, err
	}
	s.Run.Nodes, s.Run.Ratio = first.SyntheticNodes(), 0 // a refresh keeps N'
	out.Nodes = s.Run.Nodes
	never, grown, alarm, since := first, first.Fresh(), first.Fresh(), 0
	newest := first
	for k := range o.Chunks {
		progress.Step("chunks", k, o.Chunks)
		chunk := Chunk{Accuracy: make([]float64, columns), Known: make([]float64, columns)}
		if k > 0 {
			if newest, err = s.version(ctx, k); err != nil {
				return nil, err
			}
			if chunk.Judged, err = s.judge(ctx, alarm, since, k); err != nil {
				return nil, err
			}
			if len(chunk.Judged.Alarms) > 0 {
				alarm, since, chunk.Refreshed = newest.Fresh(), k, true
			}
		}
		if err := s.measure(ctx, &chunk, k, never, grown, newest.Fresh(), alarm); err != nil {
			return nil, err
		}
		out.Chunks = append(out.Chunks, chunk)
	}
	progress.Step("chunks", o.Chunks, o.Chunks)
	out.average()
	return out, nil
}

// start puts the nodes into the order of their arrival, with features by a schema of the start, cuts them into the
// start and chunks, and draws the validation nodes from the labelled nodes of the start.
func (s *stream) start(d *dataset.Dataset, order []int32) (err error) {
	first := int(s.First * float64(len(order)))
	for k := range s.Chunks + 1 {
		s.cuts = append(s.cuts, first+k*(len(order)-first)/s.Chunks)
	}
	there := *d
	there.Train, there.Unlabelled, there.Validation, there.Test = slices.Sorted(slices.Values(order[:first])), nil, nil,
		nil
	if s.data, s.Run.Keep, err = features.Encode(&there, s.Run.Keep, s.Run.Schema); err != nil {
		return err
	}
	s.data = s.data.Renumbered(order)
	rng := rand.New(rand.NewPCG(s.Run.Seed, purposeValidation))
	for _, i := range nodes(0, first) {
		switch {
		case s.data.Labels[i] < 0:
		case rng.IntN(validationShare) == 0:
			s.validation = append(s.validation, i)
		default:
			s.train = append(s.train, i)
		}
	}
	return nil
}

// nodes returns from, from+1, …, to-1.
func nodes(from, to int) []int32 {
	out := make([]int32, to-from)
	for k := range out {
		out[k] = int32(from + k)
	}
	return out
}

// known returns whether the label of a node of a chunk is known when chunk k begins.
func (s *stream) known(i int32, of, k int) bool { return of+s.Delay <= k && s.data.Labels[i] >= 0 }

// at returns the data when chunk k begins: T is the start and the chunks before k, each node with its class if that is
// known by then. Later nodes are in no role. This is the graph that package merge makes of these arrivals and labels.
func (s *stream) at(k int) *dataset.Dataset {
	d := *s.data
	d.Train, d.Unlabelled, d.Validation, d.Test = slices.Clone(s.train), nil, s.validation, nil
	d.Values = nil
	for i, y := range d.Labels[:s.cuts[0]] {
		if y < 0 {
			d.Unlabelled = append(d.Unlabelled, int32(i))
		}
	}
	for of := range k {
		for _, i := range nodes(s.cuts[of], s.cuts[of+1]) {
			if s.known(i, of, k) {
				d.Train = append(d.Train, i)
			} else {
				d.Unlabelled = append(d.Unlabelled, i)
			}
		}
	}
	return &d
}

// version trains on the graph when chunk k begins.
func (s *stream) version(ctx context.Context, k int) (*Version, error) {
	o := s.Run
	o.Propagate, o.Means, o.Spread, o.Map, o.Costs = false, false, false, false, false
	out, err := trainer.Train(ctx, s.at(k), o, time.Unix(0, 0), s.progress)
	if err != nil {
		return nil, err
	}
	return NewVersion(out.Bundle)
}

// judge returns the alarms, when chunk k begins, about the version that was made when chunk since began.
func (s *stream) judge(ctx context.Context, v *Version, since, k int) (*Figures, error) {
	d := s.at(since)
	d.Labels = slices.Clone(d.Labels)
	for of := since; of < k; of++ {
		for _, i := range nodes(s.cuts[of], s.cuts[of+1]) {
			if !s.known(i, of, k) {
				d.Labels[i] = -1
			}
		}
	}
	return Judge(ctx, d, nodes(s.cuts[since], s.cuts[k]), v.Fresh(), s.Bounds, s.progress)
}

// measure predicts chunk k in each column.
func (s *stream) measure(ctx context.Context, out *Chunk, k int, never, grown, newest, alarm *Version) error {
	arrivals := nodes(s.cuts[k], s.cuts[k+1])
	out.Arrivals = len(arrivals)
	for _, i := range arrivals {
		if s.data.Labels[i] >= 0 {
			out.Labelled++
		}
	}
	score := func(class []int32) float64 {
		right := 0
		for k, i := range arrivals {
			if class[k] == s.data.Labels[i] {
				right++
			}
		}
		return 100 * float64(right) / float64(max(1, out.Labelled))
	}
	for column, of := range map[int]struct {
		v    *Version
		grow bool
	}{SNever: {never, false}, SGrown: {grown, true}, SScheduled: {newest, true}, SAlarm: {alarm, true}} {
		answers, err := Replay(ctx, s.data, of.v, arrivals, s.Bounds.Batch, of.grow)
		if err != nil {
			return err
		}
		out.Accuracy[column] = score(answers.Class)
		out.Known[column] = 100 * float64(answers.Known) / float64(max(1, answers.Past))
	}
	// T as it was, and T with all arrivals before each micro-batch
	for column, of := range map[int]struct {
		d    *dataset.Dataset
		v    *Version
		step int
	}{TNever: {s.at(0), never, len(arrivals)}, Whole: {s.at(k), newest, s.Bounds.Batch}} {
		class, err := eval.WholeGrowing(ctx, of.d, of.v.Bundle, arrivals, 0, of.step, true, s.progress)
		if err != nil {
			return err
		}
		out.Accuracy[column] = score(class)
	}
	out.Known[TNever], out.Known[Whole] = out.Known[SNever], out.Known[SScheduled]
	return nil
}
