package solved

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/stage"
)

// MessageOptions say what the messages of a model are, of its tables of T: each table less the mean of its row,
// times a scale (docs/algorithm.md, section 5, step 3, for hops).
type MessageOptions struct {
	Preparing
	Scales []float32 `json:"scales"` // of u_0, u_1
	Way    float32   `json:"way"`    // of c
	// Entries is k, the most entries of a row of M; of stage solve.
	Entries int `json:"entries,omitzero"`
	// Clusters is N'.
	Clusters int `json:"clusters"`
	// Degree is the highest of a node, and Entry the largest number in M; they bound the sums.
	Degree int64   `json:"degree"`
	Entry  float32 `json:"entry,omitzero"`
}

// messaging makes tables and messages of blocks.
type messaging struct {
	prepared
	MessageOptions
	weights *graph.Dense
	of      infer.Messages
	largest []float64 // of features
}

func newMessaging(options json.RawMessage, sides stage.Sides) (messaging, error) {
	o, err := decode[MessageOptions](options)
	if err != nil {
		return messaging{}, err
	}
	m := messaging{MessageOptions: o, largest: readDoubles(sides[SideLargest])}
	var errs [2]error
	m.prepared, errs[0] = newPrepared(o.Preparing, sides)
	m.weights, errs[1] = readMatrix(sides[SideWeights])
	for _, s := range o.Scales {
		m.of.U = append(m.of.U, infer.Part{Scale: s})
	}
	m.of.C.Scale = o.Way
	return m, errors.Join(errs[:]...)
}

// tables are those of T for a block, and its messages.
func (m *messaging) tables(b *block) (*infer.Tables, *graph.Dense) {
	u0, u1 := b.tables(m.weights)
	t := &infer.Tables{U: []*graph.Dense{u0, u1}, C: &graph.Dense{Rows: len(b.share), Cols: 1, Data: b.share}}
	return t, m.of.Of(t)
}

// scales are those of the columns of tables: u_0, u_1 and c; of messages where centred is set; each times a
// factor.
func (m *messaging) scales(centred bool, factor float64) ([]stage.Scale, error) {
	classes := m.weights.Cols
	var bounds []float64
	table := make([]float64, classes)
	for k, l := range m.largest {
		for c, w := range m.weights.Row(k) {
			table[c] += float64(l * math.Abs(float64(w)))
		}
	}
	highest := slices.Max(table)
	order := []int{0, 1}
	if centred {
		order = []int{1, 0} // as messages stand
	}
	for _, u := range order {
		for c := range classes {
			if centred {
				bounds = append(bounds, 2*highest*math.Abs(float64(m.Scales[u])))
			} else {
				bounds = append(bounds, table[c])
			}
		}
	}
	way := 0.5
	if centred {
		way *= math.Abs(float64(m.Way))
	}
	out := make([]stage.Scale, 0, len(bounds)+1)
	for _, b := range append(bounds, way) {
		s, err := stage.NewScale(b * factor * (1 + 1e-3))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// means adds up, for each cluster, pre(X) and the messages, weighted by w, of its nodes: a record a block at key
// 0. Inputs: 0 features, 1 degrees, 2 the sums of hop 0, 3 clusters.
type means struct {
	messaging
	scale []stage.Scale
}

func newMeans(options json.RawMessage, sides stage.Sides) (stage.Function, error) {
	m, err := newMessaging(options, sides)
	if err != nil {
		return nil, err
	}
	f := &means{messaging: m}
	f.scale, err = m.meanScales()
	return f, err
}

// meanScales are those of pre(X), of w∘messages, and of w.
func (m *messaging) meanScales() ([]stage.Scale, error) {
	var out []stage.Scale
	for _, l := range m.largest {
		s, err := stage.NewScale(l * (1 + 1e-4))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	weight := float64(m.Degree + 1)
	messages, err := m.scales(true, weight)
	if err != nil {
		return nil, err
	}
	last, err := stage.NewScale(weight)
	return append(append(out, messages...), last), err
}

// Reduce implements [stage.Function].
func (f *means) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := payloads(in, 4)
	if err != nil || p[0] == nil {
		return err
	}
	b, err := f.block(p[0], p[1], p[2], nil)
	if err != nil {
		return err
	}
	of := readInts(p[3])
	if len(of) != b.x.Rows {
		return fmt.Errorf("%d clusters for %d nodes", len(of), b.x.Rows)
	}
	_, t := f.tables(b)
	sums := newGroups(f.scale)
	for j, c := range of {
		row, weight := sums.row(c), b.weight(j)
		for k, v := range b.x.Row(j) {
			row.add(k, float64(v))
		}
		for k, v := range t.Row(j) {
			row.add(b.x.Cols+k, weight*float64(v))
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
	m, err := newMessaging(s.Options, s.Sides)
	if err != nil {
		return nil, nil, err
	}
	scale, err := m.meanScales()
	if err != nil {
		return nil, nil, err
	}
	sums := make([][]stage.Sum, m.Clusters)
	for _, r := range records {
		if err := addGroups(r.Payload, sums, len(scale)); err != nil {
			return nil, nil, err
		}
	}
	d := len(m.largest)
	x, messages = graph.NewDense(m.Clusters, d), graph.NewDense(m.Clusters, len(scale)-1-d)
	for c, row := range sums {
		if row == nil {
			return nil, nil, fmt.Errorf("cluster %d is empty", c)
		}
		weight := row[len(scale)-1].Value(scale[len(scale)-1])
		for k := range d {
			x.Row(c)[k] = float32(row[k].Value(scale[k]) / float64(sizes[c]))
		}
		for k := range messages.Cols {
			messages.Row(c)[k] = float32(row[d+k].Value(scale[d+k]) / weight)
		}
	}
	return x, messages, nil
}
