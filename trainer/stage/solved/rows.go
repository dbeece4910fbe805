package solved

import (
	"fmt"

	"github.com/cespare/xxhash/v2"

	"rivulet/graph"
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

// original reports whether a node of this role belongs to T.
func (r Role) original() bool { return r == Train || r == Unlabelled }

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
	dst = appendText(appendText(appendNumber(dst, int(n.Row)), n.ID), n.Label)
	dst = append(dst, byte(n.Role))
	if n.Dense != nil {
		return appendFloats(appendNumber(append(dst, 0), len(n.Dense)), n.Dense)
	}
	dst = appendNumber(appendNumber(append(dst, 1), n.Width), len(n.Cols))
	return appendFloats(appendInts(dst, n.Cols), n.Vals)
}

func (w *wire) node() Node {
	n := Node{Row: int64(w.number()), ID: w.text(), Label: w.text(), Role: Role(w.byte())}
	if w.byte() == 0 {
		n.Width = w.count(4)
		n.Dense = w.floats(n.Width)
		return n
	}
	n.Width = w.number()
	entries := w.count(8)
	n.Cols = w.ints(entries)
	n.Vals = w.floats(entries)
	return n
}

// AppendEdge appends a row to a payload of stage edges.
func AppendEdge(dst []byte, e Edge) []byte {
	return appendText(appendText(appendNumber(dst, int(e.Row)), e.Source), e.Target)
}

func (w *wire) edge() Edge {
	return Edge{Row: int64(w.number()), Source: w.text(), Target: w.text()}
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
func (n *Names) append(dst []byte) []byte {
	dst = appendNumber(appendNumber(dst, len(n.IDs)), n.Original)
	for k, id := range n.IDs {
		dst = appendNumber(append(appendText(appendText(dst, id), n.Labels[k]), byte(n.Roles[k])), int(n.Rows[k]))
	}
	return dst
}

// ReadNames reads the payload of a record of the table of names.
func ReadNames(payload []byte) (*Names, error) {
	w := &wire{b: payload}
	rows := w.count(4)
	n := &Names{Original: w.number(), IDs: make([]string, rows), Rows: make([]int64, rows), Roles: make([]Role, rows),
		Labels: make([]string, rows)}
	labels := map[string]string{}
	for k := range rows {
		n.IDs[k] = w.text()
		label := w.text()
		if _, ok := labels[label]; !ok {
			labels[label] = label
		}
		n.Labels[k] = labels[label]
		n.Roles[k], n.Rows[k] = Role(w.byte()), int64(w.number())
	}
	if w.bad || n.Original > rows {
		return nil, errPayload
	}
	return n, w.end()
}

// places maps ids to places.
func (n *Names) places() map[string]int32 {
	out := make(map[string]int32, len(n.IDs))
	for k, id := range n.IDs {
		out[id] = int32(k)
	}
	return out
}

// appendFeatures appends the wire form of rows of features.
func appendFeatures(dst []byte, x graph.Features) []byte {
	dst = appendNumber(appendNumber(dst, x.Rows()), x.Cols())
	if x.Sparse == nil {
		return appendFloats(append(dst, 0), x.Dense.Data)
	}
	dst = append(dst, 1)
	for i := range x.Sparse.Rows {
		dst = appendNumber(dst, x.Sparse.RowLen(i))
	}
	return appendFloats(appendInts(dst, x.Sparse.ColIdx), x.Sparse.Val)
}

// ReadFeatures reads rows of features.
func ReadFeatures(payload []byte) (graph.Features, error) {
	w := &wire{b: payload}
	x := w.features()
	return x, w.end()
}

func (w *wire) features() graph.Features {
	rows, cols := w.number(), w.number()
	if w.byte() == 0 {
		if rows > 0 && cols > len(w.b)/4/rows {
			w.bad = true
			return graph.Features{}
		}
		return graph.Features{Dense: &graph.Dense{Rows: rows, Cols: cols, Data: w.floats(rows * cols)}}
	}
	if rows > len(w.b) {
		w.bad = true
		return graph.Features{}
	}
	x := &graph.CSR{Rows: rows, Cols: cols, RowPtr: make([]int, rows+1)}
	for i := range rows {
		x.RowPtr[i+1] = x.RowPtr[i] + w.number()
	}
	if n := x.RowPtr[rows]; n < 0 || n > len(w.b)/8 {
		w.bad = true
		return graph.Features{}
	}
	x.ColIdx = w.ints(x.RowPtr[rows])
	x.Val = w.floats(x.RowPtr[rows])
	return graph.Features{Sparse: x}
}

// quoted is an id in an error.
func quoted(id string) string { return fmt.Sprintf("%.100q", id) }
