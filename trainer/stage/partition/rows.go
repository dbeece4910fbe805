package partition

import (
	"fmt"

	"rivulet/trainer/stage/wire"

	"github.com/cespare/xxhash/v2"
)

// Role of a node.
type Role byte

// Roles. A node of no role is left out, and its edges are edges to nobody.
const (
	NoRole Role = iota
	Train
	Unlabelled
	Validation
	Test
)

// tableRoles are the roles by the names that package dataset gives them.
var tableRoles = map[string]Role{"": NoRole, "train": Train, "unlabelled": Unlabelled, "val": Validation, "test": Test}

// RoleOf is the role by the name that [rivulet/dataset/table.Node] gives it.
func RoleOf(split string) Role { return tableRoles[split] }

// Original reports whether a node of this role belongs to T.
func (r Role) Original() bool { return r == Train || r == Unlabelled }

// Node is a row of the table of nodes. It has Dense features or, if that is nil, Width features, of which Cols have
// Vals and the others 0.
type Node struct {
	Row       int64 // its number in the table, from 1, for errors
	ID, Label string
	Role      Role
	Dense     []float32
	Width     int
	Cols      []int32
	Vals      []float32
}

// Edge is a row of the table of edges.
type Edge struct {
	Row            int64
	Source, Target string
}

// AppendNode appends a row to a payload of stage nodes.
func AppendNode(dst []byte, n Node) []byte {
	dst = wire.AppendText(wire.AppendText(wire.AppendNumber(dst, int(n.Row)), n.ID), n.Label)
	dst = append(dst, byte(n.Role))
	if n.Dense != nil {
		return wire.AppendFloats(wire.AppendNumber(append(dst, 0), len(n.Dense)), n.Dense)
	}
	dst = wire.AppendNumber(wire.AppendNumber(append(dst, 1), n.Width), len(n.Cols))
	return wire.AppendFloats(wire.AppendInts(dst, n.Cols), n.Vals)
}

func readNode(w *wire.Reader) Node {
	n := Node{Row: int64(w.Number()), ID: w.Text(), Label: w.Text(), Role: Role(w.Byte())}
	if w.Byte() == 0 {
		n.Width = w.Count(4)
		n.Dense = w.Floats(n.Width)
		return n
	}
	n.Width = w.Number()
	entries := w.Count(8)
	n.Cols = w.Ints(entries)
	n.Vals = w.Floats(entries)
	return n
}

// AppendEdge appends a row to a payload of stage edges.
func AppendEdge(dst []byte, e Edge) []byte {
	return wire.AppendText(wire.AppendText(wire.AppendNumber(dst, int(e.Row)), e.Source), e.Target)
}

func readEdge(w *wire.Reader) Edge {
	return Edge{Row: int64(w.Number()), Source: w.Text(), Target: w.Text()}
}

// blockOf is the block of a node.
func blockOf(id string, blocks int) int64 { return int64(xxhash.Sum64String(id) % uint64(blocks)) }

// blockValues is the number of values of a dense table that a block has at most, apart from unevenness.
const blockValues = 1 << 22

// blockRows bounds the rows of a block, whatever their width.
const blockRows = 1 << 16

// fewestBlocks are enough for a few processors.
const fewestBlocks = 4

// Blocks is the number of blocks for so many nodes of so many features: a power of two, so that it changes
// seldom as data grow.
func Blocks(nodes int64, features int) int {
	rows := int64(min(blockRows, max(256, blockValues/max(features, 1))))
	blocks := fewestBlocks
	for int64(blocks)*rows < nodes {
		blocks *= 2
	}
	return blocks
}

// Names are the nodes of a block: T's in the order of their ids' bytes, and then held-out ones in that order. The
// number of a node is its block and its place.
type Names struct {
	IDs      []string
	Rows     []int64 // numbers of their rows in the data, from 1
	Roles    []Role
	Labels   []string
	Original int // of T
}

// Append appends the wire form.
func (n *Names) Append(dst []byte) []byte {
	dst = wire.AppendNumber(wire.AppendNumber(dst, len(n.IDs)), n.Original)
	for k, id := range n.IDs {
		dst = wire.AppendNumber(append(wire.AppendText(wire.AppendText(dst, id), n.Labels[k]), byte(n.Roles[k])),
			int(n.Rows[k]))
	}
	return dst
}

// ReadNames reads the payload of a record of the table of names.
func ReadNames(payload []byte) (*Names, error) {
	w := wire.NewReader(payload)
	rows := w.Count(4)
	n := &Names{Original: w.Number(), IDs: make([]string, rows), Rows: make([]int64, rows), Roles: make([]Role, rows),
		Labels: make([]string, rows)}
	labels := map[string]string{}
	for k := range rows {
		n.IDs[k] = w.Text()
		label := w.Text()
		if _, ok := labels[label]; !ok {
			labels[label] = label
		}
		n.Labels[k] = labels[label]
		n.Roles[k], n.Rows[k] = Role(w.Byte()), int64(w.Number())
	}
	if w.Bad() || n.Original > rows {
		return nil, wire.ErrPayload
	}
	return n, w.End()
}

// places maps ids to places.
func (n *Names) places() map[string]int32 {
	out := make(map[string]int32, len(n.IDs))
	for k, id := range n.IDs {
		out[id] = int32(k)
	}
	return out
}

// Quoted is an id in an error.
func Quoted(id string) string { return fmt.Sprintf("%.100q", id) }
