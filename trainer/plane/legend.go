package plane

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
)

// Rows are rows of M with the classes of their nodes, −1 where a node of T has none.
type Rows struct {
	*artifact.Mapping
	Labels []int32
}

// Of returns the map of a bundle. rows gives all of M, for some nodes of T at a time; with ids, the map has the ids of
// the heaviest nodes. rng is used for the layout alone.
func Of(b *artifact.Bundle, rows iter.Seq2[Rows, error], ids bool, rng *rand.Rand) (*artifact.Map, error) {
	l := newLegend(b.Synthetic.Labels, len(b.Manifest.Data.Classes))
	for r, err := range rows {
		if err != nil {
			return nil, err
		}
		l.add(r, ids)
	}
	out := &artifact.Map{XY: place(read(b), rng), Mass: l.masses(), Shares: l.shares()}
	out.Features = strongest(b.Synthetic.X, out.Mass)
	if ids {
		out.Heaviest = l.heaviest
	}
	return out, nil
}

// legend adds up the map's figures of each synthetic node.
type legend struct {
	labels   []int32     // N': their classes
	mass     []float64   // N': the sums of their columns of M
	classes  [][]float64 // N'×C: the same over the nodes of T of each class
	heaviest [][]artifact.Heavy
}

func newLegend(labels []int32, classes int) *legend {
	l := &legend{labels: labels, mass: make([]float64, len(labels)), classes: make([][]float64, len(labels)),
		heaviest: make([][]artifact.Heavy, len(labels))}
	for c := range l.classes {
		l.classes[c] = make([]float64, classes)
	}
	return l
}

// add adds rows of M.
func (l *legend) add(r Rows, ids bool) {
	for j, id := range r.IDs {
		cols, vals := r.Rows.Row(j)
		for k, c := range cols {
			weight := float32(1)
			if vals != nil {
				weight = vals[k]
			}
			l.mass[c] += float64(weight)
			if y := r.Labels[j]; y >= 0 {
				l.classes[c][y] += float64(weight)
			}
			if ids && weight > 0 {
				l.list(c, artifact.Heavy{ID: id, Weight: weight})
			}
		}
	}
}

// list keeps the nodes of T with the largest weights in a column of M, of equal ones the first in T.
func (l *legend) list(c int32, node artifact.Heavy) {
	list := l.heaviest[c]
	at, _ := slices.BinarySearchFunc(list, node.Weight, func(of artifact.Heavy, weight float32) int {
		if of.Weight >= weight {
			return -1
		}
		return 1
	})
	if at < artifact.MostListed {
		list = slices.Insert(list, at, node)
		l.heaviest[c] = list[:min(len(list), artifact.MostListed)]
	}
}

func (l *legend) masses() []float32 {
	out := make([]float32, len(l.mass))
	for c, sum := range l.mass {
		out[c] = float32(sum)
	}
	return out
}

// shares returns the classes behind each synthetic node, N'×C: its own where no node of T with a class is behind it.
func (l *legend) shares() *graph.Dense {
	out := graph.NewDense(len(l.labels), len(l.classes[0]))
	for c, sums := range l.classes {
		total := 0.0
		for _, sum := range sums {
			total += sum
		}
		if total == 0 {
			out.Row(c)[l.labels[c]] = 1
			continue
		}
		for y, sum := range sums {
			out.Row(c)[y] = float32(sum / total)
		}
	}
	return out
}

// strongest returns the features in which each row of x is farthest from the mean of the rows, which is weighted by
// mass (by nothing where there is none).
func strongest(x *graph.Dense, mass []float32) [][]artifact.Strength {
	mean, total := make([]float64, x.Cols), 0.0
	for i := range x.Rows {
		total += float64(mass[i])
		for c, v := range x.Row(i) {
			mean[c] += float64(mass[i]) * float64(v)
		}
	}
	for c := range mean {
		mean[c] /= max(total, math.SmallestNonzeroFloat64)
	}
	out := make([][]artifact.Strength, x.Rows)
	var list []artifact.Strength
	for i := range out {
		list = list[:0]
		for c, v := range x.Row(i) {
			if w := float32(float64(v) - mean[c]); w != 0 {
				list = append(list, artifact.Strength{Feature: int32(c), Weight: w})
			}
		}
		slices.SortStableFunc(list, func(a, b artifact.Strength) int {
			return cmp.Compare(math.Abs(float64(b.Weight)), math.Abs(float64(a.Weight)))
		})
		out[i] = slices.Clone(list[:min(len(list), artifact.MostListed)])
	}
	return out
}
