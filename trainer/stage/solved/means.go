package solved

import (
	"encoding/json"
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/stage"
)

// MeanOptions are those of stage means.
type MeanOptions struct {
	FeatureScaling
	MessageOptions
}

// means adds up, for each cluster, x̄ and the messages, weighted by w, of its nodes: a record a block at key 0. Its
// inputs are those that [messageStage] describes, and behind them the features and the clusters.
type means struct {
	messageStage
	featurePreparer
	scale []stage.Scale // of x̄, of w∘messages, and of w
}

func newMeans(options json.RawMessage, sides stage.Sides) (stage.Function, error) {
	return meansOf(options, sides)
}

func meansOf(options json.RawMessage, sides stage.Sides) (*means, error) {
	o, err := decode[MeanOptions](options)
	if err != nil {
		return nil, err
	}
	f := &means{}
	if f.messageStage, err = newMessaging(options, sides); err != nil {
		return nil, err
	}
	if f.featurePreparer, err = newPrepared(o.FeatureScaling, sides); err != nil {
		return nil, err
	}
	weight := float64(f.Degree + 1)
	features, err := scalesOf(readDoubles(sides[SideLargest]), 1)
	if err != nil {
		return nil, err
	}
	messages, err := scalesOf(f.messageBounds(), weight)
	if err != nil {
		return nil, err
	}
	last, err := stage.NewScale(weight)
	f.scale = append(append(features, messages...), last)
	return f, err
}

// Reduce implements [stage.Function].
func (f *means) Reduce(key int64, in stage.Records, out stage.Output) error {
	degrees, tables, rest, err := f.read(in, 2)
	if err != nil || degrees == nil {
		return err
	}
	x, err := ReadFeatures(rest[0])
	if err != nil {
		return err
	}
	of := readInts(rest[1])
	if len(of) != len(degrees.of) || len(of) != x.Rows() {
		return fmt.Errorf("%d clusters and %d rows of features for %d nodes", len(of), x.Rows(), len(degrees.of))
	}
	t, d := f.messages(tables), len(f.factor)
	sums := newGroups(f.scale)
	for j, c := range of {
		row, weight, scale := sums.row(c), degrees.weight(j), rowScale(f.kind, x, j)
		x.Each(j, func(k int, v float32) { row.add(k, float64(float32(v*scale))) })
		for k, v := range t.Row(j) {
			row.add(d+k, weight*float64(v))
		}
		row.add(len(f.scale)-1, weight)
	}
	return sums.emit(0, key, out)
}

// groups are sums of a few groups, such as clusters.
type groups struct {
	scale []stage.Scale
	of    map[int32]*group
	err   error
}

type group struct {
	all  *groups
	sums []stage.Sum
}

func newGroups(scale []stage.Scale) *groups { return &groups{scale: scale, of: map[int32]*group{}} }

func (g *groups) row(c int32) *group {
	r := g.of[c]
	if r == nil {
		r = &group{g, make([]stage.Sum, len(g.scale))}
		g.of[c] = r
	}
	return r
}

func (r *group) add(k int, v float64) {
	n, err := r.all.scale[k].Integer(v)
	if err != nil && r.all.err == nil {
		r.all.err = fmt.Errorf("column %d: %w", k, err)
	}
	r.sums[k].Add(n)
}

// emit writes the sums as a record at key 0.
func (g *groups) emit(output int, key int64, out stage.Output) error {
	if g.err != nil {
		return fmt.Errorf("block %d: %w", key, g.err)
	}
	var payload []byte
	for _, c := range sortedKeys(g.of) {
		payload = appendNumber(payload, int(c))
		for _, s := range g.of[c].sums {
			payload = s.Append(payload)
		}
	}
	return out.Emit(output, stage.Record{Order: order(key), Payload: payload})
}

func sortedKeys[V any](m map[int32]V) []int32 {
	keys := make([]int32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// addGroups adds a record of groups to sums, len(scale) a group.
func addGroups(payload []byte, sums [][]stage.Sum, columns int) error {
	w := &wire{b: payload}
	for w.more() {
		c := w.number()
		if c >= len(sums) {
			return errPayload
		}
		if sums[c] == nil {
			sums[c] = make([]stage.Sum, columns)
		}
		for k := range columns {
			s := w.take(16)
			if s == nil {
				return errPayload
			}
			if err := sums[c][k].Plus(stage.ReadSum(s)); err != nil {
				return err
			}
		}
	}
	return w.end()
}

// ClusterMeans are what stage means gives in all: the means of pre(X), N'×d, without the global scale, and of
// the messages, weighted, N'×p.
func ClusterMeans(s stage.Spec, records []stage.Record, sizes []int64) (x, messages *graph.Dense, err error) {
	m, err := meansOf(s.Options, s.Sides)
	if err != nil {
		return nil, nil, err
	}
	scale, d := m.scale, len(m.factor)
	sums := make([][]stage.Sum, m.Clusters)
	for _, r := range records {
		if err := addGroups(r.Payload, sums, len(scale)); err != nil {
			return nil, nil, err
		}
	}
	x, messages = graph.NewDense(m.Clusters, d), graph.NewDense(m.Clusters, len(scale)-1-d)
	for c, row := range sums {
		if row == nil {
			return nil, nil, fmt.Errorf("cluster %d is empty", c)
		}
		weight := row[len(scale)-1].Value(scale[len(scale)-1])
		for k := range d {
			mean := row[k].Value(scale[k]) / float64(sizes[c]) // of x̄
			x.Row(c)[k] = float32(float64(mean*float64(m.factor[k])) - float64(m.offset[k]))
		}
		for k := range messages.Cols {
			messages.Row(c)[k] = float32(row[d+k].Value(scale[d+k]) / weight)
		}
	}
	return x, messages, nil
}
