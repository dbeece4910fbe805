package partition

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

// Names of stages.
const (
	StageNodes   = "nodes"
	StageBlocks  = "blocks"
	StageEdges   = "edges"
	StageSources = "sources"
	StageTargets = "targets"
	StageTiles   = "tiles"
)

// BlockOptions are the options of the stages that read tables.
type BlockOptions struct {
	Blocks int `json:"blocks"`
	// DropUnknown drops edges with an end that is not the id of a node with a role, and counts them. Otherwise they are
	// errors.
	DropUnknown bool `json:"drop_unknown,omitzero"`
}

func (o BlockOptions) check() error {
	if o.Blocks < 1 || o.Blocks > maxBlocks {
		return fmt.Errorf("blocks is %d, want 1 to %d", o.Blocks, maxBlocks)
	}
	return nil
}

// nodes takes rows of nodes (payloads of AppendNode, one or more rows each; with the side form, rows of a table in
// place) to their blocks: output 0, of a block's rows in any order.
type nodes struct {
	BlockOptions
	*nodeCells // nil without the side
}

func newNodes(o BlockOptions, sides stage.Sides) (stage.Function, error) {
	cells, err := newNodeCells(sides)
	return &nodes{o, cells}, errors.Join(o.check(), err)
}

// Reduce implements [stage.Function].
func (f *nodes) Reduce(_ int64, in stage.Records, out stage.Output) error {
	return toBlocks(in, out, f.Blocks, f.rows, func(w *wire.Reader) (string, error) {
		n := readNode(w)
		if err := n.check(); err != nil && !w.Bad() {
			return "", fmt.Errorf("nodes row %d: %w", n.Row, err)
		}
		return n.ID, nil
	})
}

// toBlocks takes rows of records to the blocks of ids: rows returns a payload's rows, next reads one and returns its
// id.
func toBlocks(in stage.Records, out stage.Output, blocks int, rows func(payload []byte) ([]byte, error),
	next func(w *wire.Reader) (id string, err error)) error {
	b := NewBuckets(out, 0, nil)
	err := stage.Each(in, func(r stage.Record) error {
		all, err := rows(r.Payload)
		if err != nil {
			return err
		}
		w := wire.NewReader(all)
		for w.More() {
			before := w.Left()
			id, err := next(w)
			if w.Bad() {
				break
			}
			if err == nil {
				err = b.Add(blockOf(id, blocks), before[:len(before)-len(w.Left())])
			}
			if err != nil {
				return err
			}
		}
		return w.End()
	})
	return errors.Join(err, b.Flush())
}

func (n *Node) check() error {
	switch {
	case n.ID == "":
		return errors.New("the id is empty or null")
	case !utf8.ValidString(n.ID) || !utf8.ValidString(n.Label):
		return fmt.Errorf("id %s or label %s is not UTF-8", Quoted(n.ID), Quoted(n.Label))
	case n.Role > Test:
		return fmt.Errorf("role %d is not known", n.Role)
	case n.Label == "" && n.Role != NoRole && n.Role != Unlabelled:
		return fmt.Errorf("the label of node %s is empty or null, but a node to learn from or to be judged by needs one",
			Quoted(n.ID))
	case n.Width == 0:
		return errors.New("the node has no features")
	}
	values := n.Dense
	if values == nil {
		values = n.Vals
	}
	for k, v := range values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("feature %d of node %s is %v, want a finite number", k, Quoted(n.ID), v)
		}
		if err := preprocess.CheckMagnitude(v); err != nil {
			return fmt.Errorf("feature %d of node %s is %w", k, Quoted(n.ID), err)
		}
	}
	for _, c := range n.Cols {
		if c < 0 || int(c) >= n.Width {
			return fmt.Errorf("node %s has feature %d, want 0 to %d", Quoted(n.ID), c, n.Width-1)
		}
	}
	return nil
}

// Outputs of stage blocks: a record a block, except the summary, whose records have key 0 and the block as order.
const (
	OutNames = iota
	OutFeatures
	OutHeldFeatures // of held-out nodes
	OutSummary
	OutCounts // number of nodes of T
	blocksOutputs
)

// blocks makes a block of its nodes.
type blocks struct{}

// Reduce implements [stage.Function].
func (blocks) Reduce(key int64, in stage.Records, out stage.Output) error {
	var all []Node
	err := stage.Each(in, func(r stage.Record) error {
		w := wire.NewReader(r.Payload)
		for w.More() {
			all = append(all, readNode(w))
		}
		return w.End()
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Node) int {
		if c := strings.Compare(a.ID, b.ID); c != 0 {
			return c
		}
		return int(a.Row - b.Row)
	})
	for k := 1; k < len(all); k++ {
		if all[k].ID == all[k-1].ID {
			return fmt.Errorf("nodes row %d: %s is already the id of row %d (ids are compared as text: 17 and \"17\" are one)",
				all[k].Row, Quoted(all[k].ID), all[k-1].Row)
		}
		if all[k].Width != all[0].Width {
			return fmt.Errorf("nodes row %d: %d features, want %d as in row %d", all[k].Row, all[k].Width,
				all[0].Width, all[0].Row)
		}
	}
	all = slices.DeleteFunc(all, func(n Node) bool { return n.Role == NoRole })
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b Node) int { return behind(a) - behind(b) })
	names := &Names{}
	for _, n := range all {
		names.IDs, names.Rows = append(names.IDs, n.ID), append(names.Rows, n.Row)
		names.Roles, names.Labels = append(names.Roles, n.Role), append(names.Labels, n.Label)
		if n.Role.Original() {
			names.Original++
		}
		if n.Role == Unlabelled {
			names.Labels[len(names.Labels)-1] = ""
		}
	}
	own, held := rowsOf(all[:names.Original]), rowsOf(all[names.Original:])
	s := summarise(names, all[0].Width)
	return errors.Join(out.Emit(OutNames, stage.Record{Key: key, Payload: names.Append(nil)}),
		out.Emit(OutFeatures, stage.Record{Key: key, Payload: wire.AppendFeatures(nil, own)}),
		out.Emit(OutHeldFeatures, stage.Record{Key: key, Payload: wire.AppendFeatures(nil, held)}),
		out.Emit(OutSummary, stage.Record{Order: stage.OrderOf(key), Payload: s.append(nil)}),
		out.Emit(OutCounts, stage.Record{Key: key, Payload: wire.AppendNumber(nil, names.Original)}))
}

func behind(n Node) int {
	if n.Role.Original() {
		return 0
	}
	return 1
}

// rowsOf are the features of nodes; sparse if the first node's are.
func rowsOf(all []Node) graph.Features {
	if len(all) == 0 {
		return graph.Features{Dense: graph.NewDense(0, 0)}
	}
	width := all[0].Width
	if all[0].Dense != nil {
		x := graph.NewDense(len(all), width)
		for i, n := range all {
			copy(x.Row(i), n.Dense)
		}
		return graph.Features{Dense: x}
	}
	x := &graph.CSR{Rows: len(all), Cols: width, RowPtr: make([]int, len(all)+1)}
	for i, n := range all {
		x.ColIdx, x.Val = append(x.ColIdx, n.Cols...), append(x.Val, n.Vals...)
		x.RowPtr[i+1] = len(x.ColIdx)
	}
	return graph.Features{Sparse: x}
}

// Summary holds the run's facts of a block and, added up, of the graph.
type Summary struct {
	Width  int
	Roles  [Test + 1]int64  // nodes by role
	Labels map[string]int64 // nodes of role train by label
	Others map[string]bool  // labels of nodes that are held out
}

func summarise(n *Names, width int) *Summary {
	s := &Summary{Width: width, Labels: map[string]int64{}, Others: map[string]bool{}}
	for k, role := range n.Roles {
		s.Roles[role]++
		switch {
		case role == Train:
			s.Labels[n.Labels[k]]++
		case role != Unlabelled:
			s.Others[n.Labels[k]] = true
		}
	}
	return s
}

func (s *Summary) append(dst []byte) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // cannot be, of finite numbers
	}
	return append(dst, text...)
}

// Add adds a record of the summary.
func (s *Summary) Add(payload []byte) error {
	var other Summary
	if err := json.Unmarshal(payload, &other); err != nil {
		return err
	}
	if s.Labels == nil {
		*s = other
		return nil
	}
	if s.Width != other.Width {
		return fmt.Errorf("some nodes have %d features and others %d", s.Width, other.Width)
	}
	for role, n := range other.Roles {
		s.Roles[role] += n
	}
	for label, n := range other.Labels {
		s.Labels[label] += n
	}
	for label := range other.Others {
		s.Others[label] = true
	}
	return nil
}

// AllClasses returns known classes or, if there are none, the training nodes' ([Summary.Classes]), and after them other
// labels of held-out nodes, in the order of their bytes.
func (s *Summary) AllClasses(known []string) []string {
	if known == nil {
		known = s.Classes()
	}
	all := slices.Clone(known)
	for _, label := range slices.Sorted(maps.Keys(s.Others)) {
		if !slices.Contains(known, label) {
			all = append(all, label)
		}
	}
	return all
}

// Classes are the labels of the training nodes: in numerical order if all are integers, else in the order of their
// bytes.
func (s *Summary) Classes() []string {
	names := slices.Sorted(maps.Keys(s.Labels))
	values := make(map[string]int, len(names))
	for _, name := range names {
		v, err := strconv.Atoi(name)
		if err != nil {
			return names
		}
		values[name] = v
	}
	slices.SortStableFunc(names, func(a, b string) int { return values[a] - values[b] })
	return names
}
