package dataset

import (
	"rivulet/dataset/graphsaint"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/schema"
)

// Dataset is a whole graph with its roles, as it was read or generated.
type Dataset struct {
	Name string
	IDs  []string   // external id of each node, distinct
	Adj  *graph.CSR // n×n symmetric, no self-loops, columns ascending; Val: weights above 0, nil: all 1
	// Relations are the edges by their types and directions, [A_1 | … | A_R] of [graph.InSlots], n×Rn, which By describes;
	// nil: they have neither. Adj has each edge both ways in any case, with the weights of all types together.
	Relations *graph.CSR
	By        graph.Slots
	X         graph.Features // n×d raw
	// Columns are the named features that X is to be made of by a schema; nil if the features have positions only.
	Columns []schema.Column
	// Dropped names the columns of nodes that the user has dropped: arrivals may still bring them.
	Dropped []string
	// NodeTypes says which type of nodes has which columns, and names the column with each node's type; nil: there is one
	// type of nodes.
	NodeTypes *schema.Types
	// Schema has made X of columns with names; nil: none is known. Values are those columns, for fitting a new schema; nil
	// if they were not kept.
	Schema  *schema.Schema
	Values  []schema.Column
	Labels  []int32  // class index, -1 if unknown
	Classes []string // class names by index

	// Task is the task of the labels. If it is labels, Classes has their names, and Targets (n×labels) 1 for each label
	// that a node has, else 0. If it is numbers, Classes has the names of the outputs and Targets (n×outputs) their
	// values. The label of each node with values is 0, because condensation divides the nodes of each label into
	// clusters, and here divides all of them together.
	Task    target.Task
	Targets *graph.Dense
	// Candidates are the nodes with which a task of links answers, as far as they are in T; nil: all are. A task of links
	// has no classes, and the label of each node is 0.
	Candidates []bool

	// Times says when each node came, in any unit; nil: the data do not say it.
	Times []float64

	Train, Unlabelled, Validation, Test []int32 // node indices, ascending, disjoint
	// BagOfWords says that features are counts or flags (sparse feats.npz) and not dense; it decides about
	// `auto` preprocessing.
	BagOfWords bool
	// Merged holds the open ends of arrivals that were merged into the data; empty if none were.
	Merged graphsaint.Ends
	// Notes say in whole sentences what reading changed in the data, such as dropped self-loops. They are for people, not
	// a part of the fingerprint.
	Notes []string
	// Suspects say in whole sentences what in the data may be misread, such as a class for every node. They are no part of
	// the fingerprint either.
	Suspects []string

	// Identity is the fingerprint before [Dataset.MoveOriginalFirst]; empty: the nodes are as they were read.
	Identity string
}

// Nodes returns the number of nodes n, whatever their role.
func (d *Dataset) Nodes() int { return d.Adj.Rows }

// Neighbours returns the ids of all neighbours of a node in the whole graph, in ascending order of their index: the
// edges that the node has as an arrival, known or not.
func (d *Dataset) Neighbours(node int32) []string {
	cols, _ := d.Adj.Row(int(node))
	return graph.Pick(d.IDs, cols)
}

// Slots say what an edge reads, by its type, its direction and its weight.
func (d *Dataset) Slots() graph.Slots {
	of := d.By
	of.Weighted = d.Adj.Val != nil
	return of
}

// Isolated returns the number of nodes without any edge.
func (d *Dataset) Isolated() (n int) {
	for i := range d.Adj.Rows {
		if d.Adj.RowLen(i) == 0 {
			n++
		}
	}
	return n
}
