package solved

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/wire"
)

// Names of the stages that bring rows to the run.
const (
	StageHeld  = "held"
	StageRows  = "rows"
	StageFetch = "fetch"
)

// Sample takes the nodes of a kind whose hash of the id is at most a bound. It depends on data and seed alone.
type Sample struct {
	Seed uint64 `json:"seed"`
	// Most is the bound; [math.MaxUint64] takes all.
	Most uint64 `json:"most"`
}

// SampleOf takes all of so many nodes if they are wanted, or about as many as wanted.
func SampleOf(seed uint64, nodes, wanted int64) Sample {
	if nodes <= wanted {
		return Sample{seed, math.MaxUint64}
	}
	return Sample{seed, uint64(float64(wanted) / float64(nodes) * math.MaxUint64)}
}

func (s Sample) takes(id string) bool {
	if s.Most == math.MaxUint64 {
		return true
	}
	var d xxhash.Digest
	d.ResetWithSeed(s.Seed + 1)
	_, _ = d.WriteString(id)
	return d.Sum64() <= s.Most
}

// HeldOptions say which nodes that are held out are brought to the run.
type HeldOptions struct {
	Validation Sample `json:"validation"`
	Test       Sample `json:"test"`
}

// Number is a node: its block and its place there.
type Number struct {
	Block int64
	Place int32
}

// Compare orders numbers.
func (n Number) Compare(other Number) int {
	if n.Block != other.Block {
		return int(n.Block - other.Block)
	}
	return int(n.Place - other.Place)
}

// HeldNode is a node that is held out, with its neighbours.
type HeldNode struct {
	Number
	ID, Label       string
	Role            partition.Role
	Original, Other []Number // neighbours in T, and held-out ones
}

// heldOutStage gives the sampled nodes of a block (output 0: nodes, and their raw features behind them) and the nodes
// of T that they read (output 1, by the block of these). Inputs: 0 names, 1 features of held-out nodes, 2 their edges.
type heldOutStage struct{ HeldOptions }

func newHeld(o HeldOptions, _ stage.Sides) (stage.Function, error) {
	return &heldOutStage{o}, nil
}

// Reduce implements [stage.Function].
func (f *heldOutStage) Reduce(key int64, in stage.Records, out stage.Output) error {
	names, rest, err := partition.FirstNames(in)
	if err != nil {
		return err
	}
	x := graph.Features{Dense: graph.NewDense(0, 0)}
	nodes := map[int32]*HeldNode{}
	for k := names.Original; k < len(names.IDs); k++ {
		role := names.Roles[k]
		if role == partition.Validation && f.Validation.takes(names.IDs[k]) || role == partition.Test &&
			f.Test.takes(names.IDs[k]) {
			nodes[int32(k)] = &HeldNode{Number: Number{key, int32(k)}, ID: names.IDs[k], Label: names.Labels[k], Role: role}
		}
	}
	err = stage.Each(rest, func(r stage.Record) (err error) {
		if r.Tag == 1 {
			x, err = wire.ReadFeatures(r.Payload)
			return err
		}
		return heldEdges(r.Payload, nodes)
	})
	if err != nil || len(nodes) == 0 {
		return err
	}
	asked := partition.NewBuckets(out, 1, nil)
	var payload []byte
	var rows []int32
	payload = wire.AppendNumber(payload, len(nodes))
	for _, k := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[k]
		n.tidy()
		payload = n.append(payload)
		rows = append(rows, k-int32(names.Original))
		for _, j := range n.Original {
			if err := asked.Add(j.Block, wire.AppendU32(nil, uint32(j.Place))); err != nil {
				return err
			}
		}
	}
	payload = wire.AppendFeatures(payload, x.Take(rows))
	return errors.Join(asked.Flush(), out.Emit(0, stage.Record{Key: key, Payload: payload}))
}

func heldEdges(payload []byte, nodes map[int32]*HeldNode) error {
	w := wire.NewReader(payload)
	for w.More() {
		to := int32(w.Number())
		other, role := Number{int64(w.Number()), int32(w.Number())}, partition.Role(w.Byte())
		n := nodes[to]
		switch {
		case w.Bad() || n == nil:
		case role.Original():
			n.Original = append(n.Original, other)
		default:
			n.Other = append(n.Other, other)
		}
	}
	return w.End()
}

// tidy sorts neighbours, each once.
func (n *HeldNode) tidy() {
	for _, list := range []*[]Number{&n.Original, &n.Other} {
		slices.SortFunc(*list, Number.Compare)
		*list = slices.Compact(*list)
	}
}

func (n *HeldNode) append(dst []byte) []byte {
	dst = append(wire.AppendText(wire.AppendText(wire.AppendNumber(dst, int(n.Place)), n.ID), n.Label), byte(n.Role))
	for _, list := range [][]Number{n.Original, n.Other} {
		dst = wire.AppendNumber(dst, len(list))
		for _, j := range list {
			dst = wire.AppendNumber(wire.AppendNumber(dst, int(j.Block)), int(j.Place))
		}
	}
	return dst
}

// ReadHeld reads a record of stage held's first output.
func ReadHeld(r stage.Record) ([]HeldNode, graph.Features, error) {
	w := wire.NewReader(r.Payload)
	nodes := make([]HeldNode, w.Count(4))
	for k := range nodes {
		n := &nodes[k]
		n.Number = Number{r.Key, int32(w.Number())}
		n.ID, n.Label, n.Role = w.Text(), w.Text(), partition.Role(w.Byte())
		for _, list := range []*[]Number{&n.Original, &n.Other} {
			for range w.Count(2) {
				*list = append(*list, Number{int64(w.Number()), int32(w.Number())})
			}
		}
	}
	x := w.Features()
	return nodes, x, w.End()
}

// RowsOptions are the options of stage rows.
type RowsOptions struct {
	FeatureScaling
	Labelled Sample `json:"labelled"`
}

// rows brings rows of Â²·pre(X) of labelled nodes to the run (output 0) and adds up the squares of all (output
// 1, key 0). Inputs: 0 names, 1 features, 2 degrees, 3 and 4 the sums of the hops.
type rows struct {
	featurePreparer
	RowsOptions
	scale stage.Scale
}

func newRows(o RowsOptions, sides stage.Sides) (_ stage.Function, err error) {
	f := &rows{RowsOptions: o}
	if f.featurePreparer, err = newPrepared(o.FeatureScaling, sides); err != nil {
		return nil, err
	}
	f.scale, err = SquaresScale(wire.ReadDoubles(sides[SideLargest]))
	return f, err
}

// SquaresScale is the scale of the squared norms of rows of Â²·pre(X): |Z²_j| ≤ √D_j·b ≤ 2^12·b for a degree
// below 2^24.
func SquaresScale(largest []float64) (stage.Scale, error) {
	total := 0.0
	for _, l := range largest {
		total += float64(l * l)
	}
	return stage.NewScale(total * (1 << 24) * 1.001)
}

// Reduce implements [stage.Function].
func (f *rows) Reduce(key int64, in stage.Records, out stage.Output) error {
	names, p, err := namedPayloads(in, 5)
	if err != nil || names == nil {
		return err
	}
	b, err := f.block(p[1], p[2], p[3], p[4])
	if err != nil {
		return err
	}
	z := b.two()
	var taken []int32
	var squares stage.Sum
	for j := range z.Rows {
		sum := 0.0
		for _, v := range z.Row(j) {
			sum += float64(float64(v) * float64(v))
		}
		n, err := f.scale.Integer(sum)
		if err != nil {
			return fmt.Errorf("node %s: %w", partition.Quoted(names.IDs[j]), err)
		}
		squares.Add(n)
		if names.Roles[j] == partition.Train && f.Labelled.takes(names.IDs[j]) {
			taken = append(taken, int32(j))
		}
	}
	payload := wire.AppendNumber(nil, len(taken))
	for _, j := range taken {
		payload = wire.AppendNumber(wire.AppendText(wire.AppendNumber(payload, int(j)), names.Labels[j]), int(names.Rows[j]))
	}
	payload = append(payload, wire.AppendDense(nil, z.Take(taken))...)
	return errors.Join(out.Emit(0, stage.Record{Key: key, Payload: payload}),
		out.Emit(1, stage.Record{Order: stage.OrderOf(key), Payload: squares.Append(nil)}))
}

// LabelledRows are a record of stage rows' first output.
type LabelledRows struct {
	Places []int32
	Labels []string
	Rows   []int64 // of the data
	X      *graph.Dense
}

// ReadLabelled reads a record of stage rows' first output.
func ReadLabelled(payload []byte) (*LabelledRows, error) {
	w := wire.NewReader(payload)
	out := &LabelledRows{}
	for range w.Count(3) {
		out.Places, out.Labels = append(out.Places, int32(w.Number())), append(out.Labels, w.Text())
		out.Rows = append(out.Rows, int64(w.Number()))
	}
	out.X = w.Dense()
	if out.X.Rows != len(out.Places) {
		return nil, wire.ErrPayload
	}
	return out, w.End()
}

// fetch brings rows of the tables of a two-hop model (side weights, d×C) of the nodes that were asked for to the
// run. Inputs: 0 places, 1 features, 2 degrees, 3 the sums of hop 0.
type fetch struct {
	featurePreparer
	weights *graph.Dense
}

func newFetch(o FeatureScaling, sides stage.Sides) (_ stage.Function, err error) {
	f := &fetch{}
	if f.featurePreparer, err = newPrepared(o, sides); err != nil {
		return nil, err
	}
	f.weights, err = wire.ReadDense(sides[SideWeights])
	return f, err
}

// Reduce implements [stage.Function].
func (f *fetch) Reduce(key int64, in stage.Records, out stage.Output) error {
	places, p, err := asked(in, 0)
	if err != nil || len(places) == 0 {
		return err
	}
	b, err := f.block(p[1], p[2], p[3], nil)
	if err != nil {
		return err
	}
	payload, err := appendPlaces(key, places, b.x.Rows)
	if err != nil {
		return err
	}
	few := b.take(places)
	t := few.tables(f.weights)
	payload = wire.AppendInts(payload, few.of)
	payload = append(append(payload, wire.AppendDense(nil, t.U[0])...), wire.AppendDense(nil, t.U[1])...)
	return out.Emit(0, stage.Record{Key: key, Payload: payload})
}

// take are some nodes of a block.
func (b *block) take(places []int32) *block {
	out := &block{degrees: &degrees{}, x: b.x.Take(places), s1: b.s1.Take(places)}
	for _, j := range places {
		out.of = append(out.of, b.of[j])
		out.sums = append(out.sums, b.sums[j])
	}
	return out
}

// tables are the tables of a linear model of two hops on T with weights W (docs/algorithm.md, section 2). The sums of
// hop 0 are linear in X, so W needs no hop of its own.
func (b *block) tables(w *graph.Dense) *infer.Tables {
	hops := infer.LinearRecurrence(w.Cols, 2)
	state, first := hops.EnterSeeds(graph.MulDense(b.x, w), b.sums)
	_, second := hops.Step(0, state, graph.MulDense(b.s1, w), b.sums)
	return &infer.Tables{U: []*graph.Dense{first.Columns(0, w.Cols), second}, C: first.Columns(w.Cols, w.Cols+1)}
}

// FetchedRows are rows of tables of T.
type FetchedRows struct {
	Places, Degrees []int32
	U0, U1          *graph.Dense
}

// ReadFetched reads a record of stage fetch.
func ReadFetched(payload []byte) (*FetchedRows, error) {
	w := wire.NewReader(payload)
	n := w.Count(8)
	out := &FetchedRows{Places: w.Ints(n), Degrees: w.Ints(n), U0: w.Dense(), U1: w.Dense()}
	if out.U0.Rows != n || out.U1.Rows != n {
		return nil, wire.ErrPayload
	}
	return out, w.End()
}
