package solved

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/wire"
)

// Names of the stages that make S and M.
const (
	StageJoin   = "join"
	StageMeans  = "means"
	StageSolve  = "solve"
	StageNormal = "normal"
)

func sortedPairs[V any](of map[[2]int32]V) [][2]int32 {
	return slices.SortedFunc(maps.Keys(of), func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
}

// join finds the cluster of each node of T: the one that the run has given it (input 5), or else the nearest centre of
// its class. The class of an unlabelled node is the one that the logits predict.
//
//	inputs:  0 names, 1 features, 2 degrees, 3 and 4 the sums of the hops, 5 places and their clusters, 6 logits
//	outputs: 0 clusters, a number a node; 1, key 0: sizes
type join struct {
	featurePreparer
	points, centres *graph.Dense // points: the basis of features that are propagated in all columns; nil for others
	classes         []int32      // of clusters, ascending
	names           map[string]int32
}

// JoinOptions are the options of stage join.
type JoinOptions struct {
	FeatureScaling
	Classes []string `json:"classes"`
}

func newJoin(o JoinOptions, sides stage.Sides) (stage.Function, error) {
	f := &join{classes: wire.ReadInts(sides[SideClasses]), names: map[string]int32{}}
	for k, name := range o.Classes {
		f.names[name] = int32(k)
	}
	var errs [3]error
	f.featurePreparer, errs[0] = newPrepared(o.FeatureScaling, sides)
	f.centres, errs[1] = wire.ReadDense(sides[SideCentres])
	if b, ok := sides[SideBasis]; ok && !o.Projected {
		f.points, errs[2] = wire.ReadDense(b)
	}
	return f, errors.Join(errs[:]...)
}

// Reduce implements [stage.Function].
func (f *join) Reduce(key int64, in stage.Records, out stage.Output) error {
	names, p, err := namedPayloads(in, 7)
	if err != nil || names == nil {
		return err
	}
	b, err := f.block(p[1], p[2], p[3], p[4])
	if err != nil {
		return err
	}
	of := slices.Repeat([]int32{-1}, b.x.Rows)
	w := wire.NewReader(p[5])
	for w.More() {
		j, c := w.U32(), int32(w.U32())
		if int(j) >= len(of) {
			return wire.ErrPayload
		}
		of[j] = c
	}
	points := b.two()
	logits, err := wire.ReadDense(p[6])
	if err != nil {
		return err
	}
	if logits.Rows != points.Rows || logits.Cols != len(f.names) {
		return fmt.Errorf("logits of %d×%d for %d nodes of %d classes", logits.Rows, logits.Cols, points.Rows, len(f.names))
	}
	if f.points != nil {
		points = graph.MulDense(points, f.points)
	}
	sizes := make([]int32, f.centres.Rows)
	for j := range of {
		if of[j] < 0 {
			class, ok := f.names[names.Labels[j]]
			if names.Roles[j] == partition.Unlabelled || !ok {
				class = f.probable(logits.Row(j))
			}
			of[j] = f.nearest(points.Row(j), class)
		}
		sizes[of[j]]++
	}
	return errors.Join(w.End(), out.Emit(0, stage.Record{Key: key, Payload: wire.AppendInts(nil, of)}),
		out.Emit(1, stage.Record{Order: stage.OrderOf(key), Payload: wire.AppendInts(nil, sizes)}))
}

// probable is the most probable of the classes that have clusters.
func (f *join) probable(logits []float32) int32 {
	best := f.classes[0]
	for _, c := range f.classes {
		if logits[c] > logits[best] {
			best = c
		}
	}
	return best
}

// nearest is the centre of a class that is nearest to a point, the first among equals; of a class without
// centres, of all.
func (f *join) nearest(point []float32, class int32) int32 {
	lo, _ := slices.BinarySearch(f.classes, class)
	hi, _ := slices.BinarySearch(f.classes, class+1)
	if lo == hi {
		lo, hi = 0, len(f.classes)
	}
	best, least := lo, math.Inf(1)
	for c := lo; c < hi; c++ {
		sum := 0.0
		for k, v := range f.centres.Row(c) {
			gap := float64(point[k]) - float64(v)
			sum += float64(gap * gap)
		}
		if sum < least {
			best, least = c, sum
		}
	}
	return int32(best)
}

// AppendAssigned appends a place and its cluster to the payload of an input of stage join.
func AppendAssigned(dst []byte, place, cluster int32) []byte {
	return wire.AppendU32(wire.AppendU32(dst, uint32(place)), uint32(cluster))
}

// Meetings adds the counts of stage count to edges between clusters.
func Meetings(payload []byte, add func(a, b int32, n int64)) error {
	w := wire.NewReader(payload)
	for w.More() {
		add(int32(w.Number()), int32(w.Number()), int64(w.Number()))
	}
	return w.End()
}
