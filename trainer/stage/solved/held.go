package solved

import (
	"maps"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"rivulet/graph"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/wire"
)

// StageHeld is the name of the stage that brings the nodes that are held out.
const StageHeld = "held"

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

// heldOutStage gives the sampled nodes of a block, and their raw features behind them. Inputs: 0 names, 1 features of
// held-out nodes, 2 their edges.
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
	var rows []int32
	payload := wire.AppendNumber(nil, len(nodes))
	for _, k := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[k]
		n.tidy()
		payload = n.append(payload)
		rows = append(rows, k-int32(names.Original))
	}
	return out.Emit(0, stage.Record{Key: key, Payload: wire.AppendFeatures(payload, x.Take(rows))})
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
