package solved

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/wire"
)

// Names of the stages that bring a subgraph of T to the run: labelled nodes, nodes that judges read, and nodes around
// them.
const (
	StageMark   = "mark"
	StageReach  = "reach"
	StageNear   = "near"
	StageThin   = "thin"
	StageBring  = "bring"
	StageNumber = "number"
	StageLink   = "link"
)

// A mark says how a node of T belongs to the subgraph: it is 0 if it does from the beginning, n if it is n edges away
// from such nodes, and outside if it does not.
const outside = -1

// SubgraphSize is a number of nodes of a block.
type SubgraphSize struct {
	Nodes int64
	Bytes int64 `json:",omitzero"` // of their raw features; of stage mark
}

// ReadSubgraphSize reads a record of the second output of stages mark, near and thin: a block, and its size.
func ReadSubgraphSize(r stage.Record) (block int64, size SubgraphSize, err error) {
	err = json.Unmarshal(r.Payload, &size)
	return stage.FromOrder(r.Order), size, err
}

// emitMarks writes the marks of a block (output 0), and at key 0 its size (output 1).
func emitMarks(key int64, marks []int32, size SubgraphSize, out stage.Output) error {
	text, err := json.Marshal(size)
	return errors.Join(err, out.Emit(0, stage.Record{Key: key, Payload: wire.AppendInts(nil, marks)}),
		out.Emit(1, stage.Record{Order: stage.OrderOf(key), Payload: text}))
}

// MarkOptions are the options of stage mark: the nodes with which the subgraph begins.
type MarkOptions struct {
	Labelled Sample `json:"labelled"` // of the labelled nodes
	All      bool   `json:"all,omitzero"`
}

// mark marks the nodes that belong to the subgraph from the beginning, and gives their number and the bytes of their
// features. Inputs: 0 names, 1 features, 2 places that belong to it, too; there need not be any.
type mark struct{ MarkOptions }

func newMark(o MarkOptions, _ stage.Sides) (stage.Function, error) {
	return &mark{o}, nil
}

// Reduce implements [stage.Function].
func (f *mark) Reduce(key int64, in stage.Records, out stage.Output) error {
	places, p, err := asked(in, 2)
	if err != nil || p[0] == nil {
		return err
	}
	names, err := partition.ReadNames(p[0])
	if err != nil {
		return err
	}
	marks := slices.Repeat([]int32{outside}, names.Original)
	for j := range marks {
		if f.All || names.Roles[j] == partition.Train && f.Labelled.takes(names.IDs[j]) {
			marks[j] = 0
		}
	}
	for _, j := range places {
		if int(j) >= len(marks) {
			return fmt.Errorf("block %d: place %d of %d", key, j, len(marks))
		}
		marks[j] = 0
	}
	size := SubgraphSize{Nodes: inSubgraph(marks)}
	if len(marks) > 0 {
		size.Bytes = size.Nodes * int64(len(p[1])) / int64(len(marks))
	}
	return emitMarks(key, marks, size, out)
}

// inSubgraph returns how many nodes belong to the subgraph.
func inSubgraph(marks []int32) (nodes int64) {
	for _, m := range marks {
		if m != outside {
			nodes++
		}
	}
	return nodes
}

// reachScale is the scale of the number that a node of the subgraph sends, 1.
func reachScale(terms int64) ([]stage.Scale, error) {
	s, err := stage.NewScale(1, terms)
	return []stage.Scale{s}, err
}

// ReachOptions are the options of the hop that finds the nodes around a subgraph.
type ReachOptions struct {
	Distance int32 `json:"distance"` // of the found nodes
	Terms    int64 `json:"terms"`    // the most edges of a node
}

// reacher sends 1 from each node of the subgraph. Input 1 are marks.
type reacher struct{ scale []stage.Scale }

func newReach(o ReachOptions, _ stage.Sides) (stage.Function, error) {
	scale, err := reachScale(o.Terms)
	return scatter{&reacher{scale}}, err
}

func (s *reacher) scales() []stage.Scale { return s.scale }

func (s *reacher) vectors(in stage.Records) (*stage.Vectors, error) {
	p, err := stage.Payloads(in, 2)
	if err != nil {
		return nil, err
	}
	marks := wire.ReadInts(p[1])
	v := &stage.Vectors{Rows: len(marks), Cols: 1, Units: make([]int64, len(marks))}
	for j, m := range marks {
		if m != outside {
			if v.Units[j], err = s.scale[0].Integer(1); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// near marks the nodes outside that have a neighbour in the subgraph, and gives their number. Inputs: 0 messages, 1
// marks.
type near struct {
	ReachOptions
	scale []stage.Scale
}

func newNear(o ReachOptions, _ stage.Sides) (stage.Function, error) {
	scale, err := reachScale(o.Terms)
	return &near{o, scale}, err
}

// Reduce implements [stage.Function].
func (f *near) Reduce(key int64, in stage.Records, out stage.Output) error {
	return gather(f, f.scale, key, in, out)
}

// Gather implements [stage.Gatherer].
func (f *near) Gather(key int64, in stage.Records) (stage.BlockSums, error) {
	p, err := stage.Payloads(in, 2)
	marks := wire.ReadInts(p[1])
	return &nearSums{&featureSums{f.scale, key, len(marks), make([]int64, len(marks))}, f.Distance, marks}, err
}

type nearSums struct {
	*featureSums
	distance int32
	marks    []int32
}

// End implements [stage.BlockSums].
func (g *nearSums) End(out stage.Output) error {
	size := SubgraphSize{}
	for j := range g.marks {
		if g.marks[j] == outside && g.sums[j] > 0 {
			g.marks[j] = g.distance
			size.Nodes++
		}
	}
	return emitMarks(g.key, g.marks, size, out)
}

// ThinOptions are the options of stage thin, which keeps a sample of the nodes at a distance.
type ThinOptions struct {
	Distance int32  `json:"distance"`
	Kept     Sample `json:"kept"`
}

// thin takes nodes out of the subgraph again, and counts the remaining ones. Inputs: 0 names, 1 marks.
type thin struct{ ThinOptions }

func newThin(o ThinOptions, _ stage.Sides) (stage.Function, error) {
	return &thin{o}, nil
}

// Reduce implements [stage.Function].
func (f *thin) Reduce(key int64, in stage.Records, out stage.Output) error {
	names, p, err := namedPayloads(in, 2)
	if err != nil || names == nil {
		return err
	}
	marks := wire.ReadInts(p[1])
	if len(marks) != names.Original {
		return fmt.Errorf("block %d: %d marks for %d nodes", key, len(marks), names.Original)
	}
	for j, m := range marks {
		if m == f.Distance && !f.Kept.takes(names.IDs[j]) {
			marks[j] = outside
		}
	}
	return emitMarks(key, marks, SubgraphSize{Nodes: inSubgraph(marks)}, out)
}

// subgraphReader brings the names, roles, labels, raw features and degrees in T of the subgraph to the run. Inputs: 0
// names, 1 features, 2 marks, 3 degrees.
type subgraphReader struct{}

// Reduce implements [stage.Function].
func (subgraphReader) Reduce(key int64, in stage.Records, out stage.Output) error {
	names, p, err := namedPayloads(in, 4)
	if err != nil || names == nil {
		return err
	}
	degrees, err := partition.ReadDegrees(p[3])
	if err != nil {
		return err
	}
	x, err := wire.ReadFeatures(p[1])
	if err != nil {
		return err
	}
	some, places, of := &partition.Names{}, []int32{}, []int32{}
	for j, m := range wire.ReadInts(p[2]) {
		if m == outside {
			continue
		}
		if j >= names.Original || j >= x.Rows() || j >= len(degrees) {
			return fmt.Errorf("block %d: a mark of place %d of %d", key, j, names.Original)
		}
		places, of = append(places, int32(j)), append(of, degrees[j])
		some.IDs, some.Roles = append(some.IDs, names.IDs[j]), append(some.Roles, names.Roles[j])
		some.Labels, some.Rows = append(some.Labels, names.Labels[j]), append(some.Rows, names.Rows[j])
	}
	if len(places) == 0 {
		return nil
	}
	some.Original = len(places)
	payload := wire.AppendInts(wire.AppendInts(wire.AppendNumber(nil, len(places)), places), of)
	named := some.Append(nil)
	payload = append(wire.AppendNumber(payload, len(named)), named...)
	return out.Emit(0, stage.Record{Key: key, Payload: wire.AppendFeatures(payload, x.Take(places))})
}

// Brought are the nodes of a subgraph of T in a block.
type Brought struct {
	Places, Degrees []int32 // degrees in T
	Names           *partition.Names
	X               graph.Features // raw
}

// ReadBrought reads a record of stage bring.
func ReadBrought(payload []byte) (*Brought, error) {
	w := wire.NewReader(payload)
	n := w.Count(8)
	out := &Brought{Places: w.Ints(n), Degrees: w.Ints(n)}
	names, err := partition.ReadNames(w.Take(w.Number()))
	if err != nil {
		return nil, err
	}
	out.Names, out.X = names, w.Features()
	if len(names.IDs) != len(out.Places) || out.X.Rows() != len(out.Places) {
		return nil, wire.ErrPayload
	}
	return out, w.End()
}

// SideFirst is the side of stage number: for each block, ascending, its number and the number in the subgraph of its
// first node.
const SideFirst = "first"

// MostInSubgraph is the most nodes that a subgraph of T has: a float32 holds their numbers exactly.
const MostInSubgraph = 1<<numberBits - 1

// nodeNumbering gives the nodes of the subgraph their numbers, and -1 to the others. Input 0 are marks.
type nodeNumbering struct{ first map[int64]int32 }

func newNumbered(_ struct{}, sides stage.Sides) (stage.Function, error) {
	pairs := wire.ReadInts(sides[SideFirst])
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("side %s has %d numbers, want pairs", SideFirst, len(pairs))
	}
	f := &nodeNumbering{map[int64]int32{}}
	for k := 0; k < len(pairs); k += 2 {
		f.first[int64(pairs[k])] = pairs[k+1]
	}
	return f, nil
}

// Reduce implements [stage.Function].
func (f *nodeNumbering) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := stage.Payloads(in, 1)
	if err != nil {
		return err
	}
	numbers, next := wire.ReadInts(p[0]), f.first[key]
	for j, m := range numbers {
		if m == outside {
			numbers[j] = -1
			continue
		}
		numbers[j] = next
		next++
	}
	return out.Emit(0, stage.Record{Key: key, Payload: wire.AppendInts(nil, numbers)})
}

// link lists the neighbours in the subgraph of each node of the subgraph: the second stage of a hop whose first is
// meet, of numbers. Input 1 are numbers. Output 0: a record a block, of each node of the subgraph how many neighbours,
// and which.
type link struct{}

// Reduce implements [stage.Function].
func (f link) Reduce(key int64, in stage.Records, out stage.Output) error {
	return gather(f, numberScale, key, in, out)
}

// Gather implements [stage.Gatherer].
func (link) Gather(key int64, in stage.Records) (stage.BlockSums, error) {
	p, err := stage.Payloads(in, 2)
	numbers := wire.ReadInts(p[1])
	return &links{key, numbers, make([][]int32, len(numbers))}, err
}

type links struct {
	key     int64
	numbers []int32
	of      [][]int32
}

// Bytes implements [stage.BlockSums]: the edges are not known before they come, and belong to a subgraph of T that the
// run has room for.
func (g *links) Bytes() int64 { return int64(28*len(g.numbers)) + 1<<20 }

// Add implements [stage.BlockSums].
func (g *links) Add(tile []byte, from *stage.Vectors) error {
	return eachMeeting(g.key, tile, from, g.numbers, func(a, j int32) { g.of[j] = append(g.of[j], a) })
}

// End implements [stage.BlockSums].
func (g *links) End(out stage.Output) error {
	var payload []byte
	for j, n := range g.numbers {
		if n >= 0 {
			slices.Sort(g.of[j])
			payload = wire.AppendInts(wire.AppendNumber(payload, len(g.of[j])), g.of[j])
		}
	}
	return out.Emit(0, stage.Record{Key: g.key, Payload: payload})
}

// EachLinks calls use with the neighbours in the subgraph of each node of the subgraph of a block, in the order of
// their numbers.
func EachLinks(payload []byte, use func(neighbours []int32)) error {
	w := wire.NewReader(payload)
	for w.More() {
		use(w.Ints(w.Count(4)))
	}
	return w.End()
}
