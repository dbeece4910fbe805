package solved

import (
	"fmt"
	"maps"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

// MeanOptions are the options of stage means.
type MeanOptions struct {
	FeatureScaling
	MessageOptions
}

// means adds up, for each cluster, x̄ and the messages, weighted by w, of its nodes: a record a block at key 0. Its
// inputs are messageStage's, and behind them the features and the clusters.
type means struct {
	messageStage
	featurePreparer
	scale []stage.Scale // of x̄, of w∘messages, and of w
}

func newMeans(o MeanOptions, sides stage.Sides) (stage.Function, error) { return meansOf(o, sides) }

func meansOf(o MeanOptions, sides stage.Sides) (f *means, err error) {
	f = &means{}
	if f.messageStage, err = newMessaging(o.MessageOptions, sides); err != nil {
		return nil, err
	}
	if f.featurePreparer, err = newPrepared(o.FeatureScaling, sides); err != nil {
		return nil, err
	}
	weight := float64(f.Degree + 1)
	features, err := scalesOf(wire.ReadDoubles(sides[SideLargest]), 1)
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
	x, err := wire.ReadFeatures(rest[0])
	if err != nil {
		return err
	}
	of := wire.ReadInts(rest[1])
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
	for _, c := range slices.Sorted(maps.Keys(g.of)) {
		payload = wire.AppendNumber(payload, int(c))
		for _, s := range g.of[c].sums {
			payload = s.Append(payload)
		}
	}
	return out.Emit(output, stage.Record{Order: stage.OrderOf(key), Payload: payload})
}

// sumGroups adds up records of so many groups. The sums of a group without any are nil.
func sumGroups(records []stage.Record, groups int, scale []stage.Scale) ([][]float64, error) {
	sums := make([][]stage.Sum, groups)
	for _, r := range records {
		if err := addGroups(r.Payload, sums, len(scale)); err != nil {
			return nil, err
		}
	}
	out := make([][]float64, groups)
	for c, row := range sums {
		for k, s := range row {
			out[c] = append(out[c], s.Value(scale[k]))
		}
	}
	return out, nil
}

// addColumns adds, for each entry m_jc of rows of M, w_j·m_jc times row j of a table to group c: the block's part of
// MᵀwU.
func (g *groups) addColumns(d *degrees, m *graph.CSR, table *graph.Dense) {
	for j := range m.Rows {
		cols, vals := m.Row(j)
		for at, c := range cols {
			weight, row := float64(d.weight(j)*float64(vals[at])), g.row(c)
			for k, v := range table.Row(j) {
				row.add(k, weight*float64(v))
			}
		}
	}
}

// addGroups adds a record of groups to sums, len(scale) a group.
func addGroups(payload []byte, sums [][]stage.Sum, columns int) error {
	w := wire.NewReader(payload)
	for w.More() {
		c := w.Number()
		if c >= len(sums) {
			return wire.ErrPayload
		}
		if sums[c] == nil {
			sums[c] = make([]stage.Sum, columns)
		}
		for k := range columns {
			s := w.Take(16)
			if s == nil {
				return wire.ErrPayload
			}
			if err := sums[c][k].Plus(stage.ReadSum(s)); err != nil {
				return err
			}
		}
	}
	return w.End()
}

// ClusterMeans add up the output of stage means: the means of pre(X), N'×d, without the global scale, and of the
// messages, weighted, N'×p.
func ClusterMeans(o MeanOptions, sides stage.Sides, records []stage.Record, sizes []int64) (x, messages *graph.Dense,
	err error) {
	m, err := meansOf(o, sides)
	if err != nil {
		return nil, nil, err
	}
	d, last := len(m.factor), len(m.scale)-1
	sums, err := sumGroups(records, m.Clusters, m.scale)
	if err != nil {
		return nil, nil, err
	}
	x, messages = graph.NewDense(m.Clusters, d), graph.NewDense(m.Clusters, last-d)
	for c, row := range sums {
		if row == nil {
			return nil, nil, fmt.Errorf("cluster %d is empty", c)
		}
		for k := range d {
			mean := row[k] / float64(sizes[c]) // of x̄
			x.Row(c)[k] = float32(float64(mean*float64(m.factor[k])) - float64(m.offset[k]))
		}
		for k := range messages.Cols {
			messages.Row(c)[k] = float32(row[d+k] / row[last])
		}
	}
	return x, messages, nil
}
