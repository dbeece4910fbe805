package solved

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/stage"
)

// Names of the stages that bring a subgraph of T to the run: labelled nodes, what judges read, and nodes around them.
const (
	StageSeed   = "seed"
	StageShout  = "shout"
	StageHear   = "hear"
	StageThin   = "thin"
	StageBring  = "bring"
	StageNumber = "number"
	StageLink   = "link"
)

// A mark says how a node of T belongs to the subgraph: it is 0 if it does from the beginning, n if it is n edges away from
// such nodes, and outside if it does not.
const outside = -1

// SubgraphOptions are those of the stages that choose a subgraph of T.
type SubgraphOptions struct {
	// Labelled are the labelled nodes that belong to the subgraph from the beginning, or All nodes; of stage seed.
	Labelled Sample `json:"labelled"`
	All      bool   `json:"all,omitzero"`
	// Distance is that of the nodes that stage hear adds and stage thin keeps a sample of.
	Distance int32  `json:"distance,omitzero"`
	Kept     Sample `json:"kept"`
}

// SubgraphSize is the number of nodes of a subgraph of T, and the bytes of their names and features.
type SubgraphSize struct{ Nodes, Bytes int64 }

// Add adds a record of a stage's second output.
func (s *SubgraphSize) Add(payload []byte) error {
	var other SubgraphSize
	err := json.Unmarshal(payload, &other)
	s.Nodes, s.Bytes = s.Nodes+other.Nodes, s.Bytes+other.Bytes
	return err
}

// emitMarks writes the marks of a block (output 0), and at key 0 the size of what is marked with a distance (output
// 1), if features take so many bytes in all.
func emitMarks(key int64, marks []int32, distance int32, bytes int, out stage.Output) error {
	size := SubgraphSize{}
	for _, m := range marks {
		if m == distance {
			size.Nodes++
		}
	}
	if len(marks) > 0 {
		size.Bytes = size.Nodes * int64(bytes) / int64(len(marks))
	}
	text, err := json.Marshal(size)
	return errors.Join(err, out.Emit(0, stage.Record{Key: key, Payload: appendInts(nil, marks)}),
		out.Emit(1, stage.Record{Order: order(key), Payload: text}))
}

// seed marks the nodes that belong to the subgraph from the beginning: a sample of the labelled ones, and places that are
// asked for. Inputs: 0 names, 1 features, 2 places.
type seed struct{ SubgraphOptions }

func newSeed(options json.RawMessage, _ stage.Sides) (stage.Function, error) {
	o, err := decode[SubgraphOptions](options)
	return &seed{o}, err
}

// Reduce implements [stage.Function].
func (f *seed) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, places, err := withPlaces(in, 3)
	if err != nil || p[0] == nil {
		return err
	}
	names, err := ReadNames(p[0])
	if err != nil {
		return err
	}
	marks := slices.Repeat([]int32{outside}, names.Original)
	for j := range marks {
		if f.All || names.Roles[j] == Train && f.Labelled.takes(names.IDs[j]) {
			marks[j] = 0
		}
	}
	for _, j := range places {
		if int(j) >= len(marks) {
			return fmt.Errorf("block %d: place %d of %d", key, j, len(marks))
		}
		marks[j] = 0
	}
	return emitMarks(key, marks, 0, len(p[1]), out)
}

// shoutScale is the scale of what nodes of the subgraph send.
func shoutScale(terms int64) ([]stage.Scale, error) {
	s, err := stage.NewScale64(1, terms)
	return []stage.Scale{s}, err
}

// ShoutOptions are those of the hop that finds the nodes around a subgraph.
type ShoutOptions struct {
	Distance int32 `json:"distance"` // of the nodes that are found
	Terms    int64 `json:"terms"`    // the most edges of a node
}

// shouter sends 1 from each node of the subgraph. Input 1 are marks.
type shouter struct{ scale []stage.Scale }

func newShout(options json.RawMessage, _ stage.Sides) (stage.Function, error) {
	o, err := decode[ShoutOptions](options)
	if err != nil {
		return nil, err
	}
	scale, err := shoutScale(o.Terms)
	return scatter{&shouter{scale}}, err
}

func (s *shouter) scales() []stage.Scale { return s.scale }

func (s *shouter) vectors(in stage.Records) (*stage.Vectors, error) {
	p, err := payloads(in, 2)
	if err != nil {
		return nil, err
	}
	marks := readInts(p[1])
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

// hear marks the nodes outside that have a neighbour in the subgraph. Inputs: 0 messages, 1 marks, 2 features.
type hear struct {
	ShoutOptions
	scale []stage.Scale
}

func newHear(options json.RawMessage, _ stage.Sides) (stage.Function, error) {
	o, err := decode[ShoutOptions](options)
	if err != nil {
		return nil, err
	}
	scale, err := shoutScale(o.Terms)
	return &hear{o, scale}, err
}

// Reduce implements [stage.Function].
func (f *hear) Reduce(key int64, in stage.Records, out stage.Output) error {
	return gather(f, f.scale, key, in, out)
}

// Gather implements [stage.Gatherer].
func (f *hear) Gather(key int64, in stage.Records) (stage.Gathering, error) {
	p, err := payloads(in, 3)
	if err != nil {
		return nil, err
	}
	marks := readInts(p[1])
	return &heard{&featureSums{f.scale, key, len(marks), make([]int64, len(marks))}, f.Distance, marks, len(p[2])}, nil
}

type heard struct {
	*featureSums
	distance int32
	marks    []int32
	bytes    int // of the block's features
}

// End implements [stage.Gathering].
func (g *heard) End(out stage.Output) error {
	for j := range g.marks {
		if g.marks[j] == outside && g.sums[j] > 0 {
			g.marks[j] = g.distance
		}
	}
	return emitMarks(g.key, g.marks, g.distance, g.bytes, out)
}

// thin keeps a sample of the nodes of a distance. Inputs: 0 names, 1 marks. Output 1, key 0: the number of nodes of the
// subgraph in the block.
type thin struct{ SubgraphOptions }

func newThin(options json.RawMessage, _ stage.Sides) (stage.Function, error) {
	o, err := decode[SubgraphOptions](options)
	return &thin{o}, err
}

// Reduce implements [stage.Function].
func (f *thin) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := payloads(in, 2)
	if err != nil || p[0] == nil {
		return err
	}
	names, err := ReadNames(p[0])
	if err != nil {
		return err
	}
	marks, nodes := readInts(p[1]), int32(0)
	if len(marks) != names.Original {
		return fmt.Errorf("block %d: %d marks for %d nodes", key, len(marks), names.Original)
	}
	for j, m := range marks {
		if m == f.Distance && m != 0 && !f.Kept.takes(names.IDs[j]) {
			marks[j] = outside
		}
		if marks[j] != outside {
			nodes++
		}
	}
	return errors.Join(out.Emit(0, stage.Record{Key: key, Payload: appendInts(nil, marks)}),
		out.Emit(1, stage.Record{Order: order(key), Payload: appendInts(nil, []int32{nodes})}))
}

// ReadSubgraphNodes reads a record of stage thin's second output: a block, and its nodes of the subgraph.
func ReadSubgraphNodes(r stage.Record) (block int64, nodes int, err error) {
	of := readInts(r.Payload)
	if len(of) != 1 {
		return 0, 0, errPayload
	}
	return fromOrder(r.Order), int(of[0]), nil
}

// bring brings the names, roles, labels and raw features of the subgraph to the run. Inputs: 0 names, 1 features, 2 marks.
type bring struct{}

func newBring(json.RawMessage, stage.Sides) (stage.Function, error) { return bring{}, nil }

// Reduce implements [stage.Function].
func (bring) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := payloads(in, 3)
	if err != nil || p[0] == nil {
		return err
	}
	names, err := ReadNames(p[0])
	if err != nil {
		return err
	}
	x, err := ReadFeatures(p[1])
	if err != nil {
		return err
	}
	some, places := &Names{}, []int32{}
	for j, m := range readInts(p[2]) {
		if m == outside {
			continue
		}
		if j >= names.Original || j >= x.Rows() {
			return fmt.Errorf("block %d: a mark of place %d of %d", key, j, names.Original)
		}
		places = append(places, int32(j))
		some.IDs, some.Roles = append(some.IDs, names.IDs[j]), append(some.Roles, names.Roles[j])
		some.Labels = append(some.Labels, names.Labels[j])
	}
	if len(places) == 0 {
		return nil
	}
	some.Original = len(places)
	payload := appendInts(appendNumber(nil, len(places)), places)
	names0 := some.append(nil)
	payload = append(appendNumber(payload, len(names0)), names0...)
	return out.Emit(0, stage.Record{Key: key, Payload: appendFeatures(payload, x.Take(places))})
}

// Brought are the nodes of a subgraph of T in a block.
type Brought struct {
	Places []int32
	Names  *Names
	X      graph.Features // raw
}

// ReadBrought reads a record of stage bring.
func ReadBrought(payload []byte) (*Brought, error) {
	w := &wire{b: payload}
	out := &Brought{Places: w.ints(w.count(4))}
	names, err := ReadNames(w.take(w.number()))
	if err != nil {
		return nil, err
	}
	out.Names, out.X = names, w.features()
	if len(names.IDs) != len(out.Places) || out.X.Rows() != len(out.Places) {
		return nil, errPayload
	}
	return out, w.end()
}

// SideFirst is the side of stage number: for each block, ascending, its number and the number in the subgraph of its first
// node.
const SideFirst = "first"

// MostInSubgraph is the most nodes that a subgraph of T has: a float32 holds their numbers exactly.
const MostInSubgraph = 1<<valueOfCluster - 1

// numbered gives the nodes of the subgraph their numbers, and -1 to the others. Input 0 are marks.
type numbered struct{ first map[int64]int32 }

func newNumbered(_ json.RawMessage, sides stage.Sides) (stage.Function, error) {
	pairs := readInts(sides[SideFirst])
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("side %s has %d numbers, want pairs", SideFirst, len(pairs))
	}
	f := &numbered{map[int64]int32{}}
	for k := 0; k < len(pairs); k += 2 {
		f.first[int64(pairs[k])] = pairs[k+1]
	}
	return f, nil
}

// Reduce implements [stage.Function].
func (f *numbered) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := payloads(in, 1)
	if err != nil {
		return err
	}
	numbers, next := readInts(p[0]), f.first[key]
	for j, m := range numbers {
		if m == outside {
			numbers[j] = -1
			continue
		}
		numbers[j] = next
		next++
	}
	return out.Emit(0, stage.Record{Key: key, Payload: appendInts(nil, numbers)})
}

// link lists the neighbours in the subgraph of each node of the subgraph: the second stage of a hop whose first is meet, of
// numbers. Input 1 are numbers. Output 0: a record a block, of each node of the subgraph how many neighbours, and which.
type link struct{}

func newLink(json.RawMessage, stage.Sides) (stage.Function, error) { return link{}, nil }

// Reduce implements [stage.Function].
func (f link) Reduce(key int64, in stage.Records, out stage.Output) error {
	return gather(f, clusterScale, key, in, out)
}

// Gather implements [stage.Gatherer].
func (link) Gather(key int64, in stage.Records) (stage.Gathering, error) {
	p, err := payloads(in, 2)
	numbers := readInts(p[1])
	return &links{key, numbers, make([][]int32, len(numbers))}, err
}

type links struct {
	key     int64
	numbers []int32
	of      [][]int32
}

// Bytes implements [stage.Gathering]: the edges are not known before they come, and are those of a subgraph of T that the
// run has room for.
func (g *links) Bytes() int64 { return int64(28*len(g.numbers)) + 1<<20 }

// Add implements [stage.Gathering].
func (g *links) Add(tile []byte, from *stage.Vectors) error {
	per := clusterScale[0].Unit()
	return eachSource(tile, func(source int, to []int32) error {
		if source >= from.Rows {
			return fmt.Errorf("block %d: an edge from place %d of %d", g.key, source, from.Rows)
		}
		a := int32(float64(from.Units[source]) * per)
		for _, j := range to {
			if int(j) >= len(g.numbers) {
				return fmt.Errorf("block %d: an edge to place %d of %d", g.key, j, len(g.numbers))
			}
			if a >= 0 && g.numbers[j] >= 0 {
				g.of[j] = append(g.of[j], a)
			}
		}
		return nil
	})
}

// End implements [stage.Gathering].
func (g *links) End(out stage.Output) error {
	var payload []byte
	for j, n := range g.numbers {
		if n >= 0 {
			slices.Sort(g.of[j])
			payload = appendInts(appendNumber(payload, len(g.of[j])), g.of[j])
		}
	}
	return out.Emit(0, stage.Record{Key: g.key, Payload: payload})
}

// EachLinks calls use with the neighbours in the subgraph of each node of the subgraph of a block, in the order of their
// numbers.
func EachLinks(payload []byte, use func(neighbours []int32)) error {
	w := &wire{b: payload}
	for w.more() {
		use(w.ints(w.count(4)))
	}
	return w.end()
}
