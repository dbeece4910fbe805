package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// NodeRows reads rows of a table of nodes whose features have positions. The table has a column split.
type NodeRows struct {
	names []string
	plan  nodeColumns
	roles *Table
}

// NewNodeRows returns what reads rows of a table with columns of these names, which may be more than are read. An
// error names the column that is missing.
func NewNodeRows(o Tables, names []string) (*NodeRows, error) {
	plan, err := o.planNodes(names, true)
	if err != nil {
		return nil, err
	}
	if plan.split < 0 {
		return nil, fmt.Errorf("no column split among %s: say which column is the split", listed(names))
	}
	return &NodeRows{slices.Clone(names), plan, NewTable(o)}, nil
}

// Columns are the indexes of the columns that [NodeRows.Read] takes, in its order. The features are the last ones.
func (r *NodeRows) Columns() []int {
	return append([]int{r.plan.id, r.plan.label, r.plan.split}, r.plan.values()...)
}

// List is the index of the column that holds the features as lists; -1 if each has a column of its own.
func (r *NodeRows) List() int { return r.plan.list }

// Features is the number of features that have a column of their own.
func (r *NodeRows) Features() int { return len(r.plan.features) }

// values are the columns of features.
func (c nodeColumns) values() []int {
	if c.list >= 0 {
		return []int{c.list}
	}
	return c.features
}

// Read reads the cells of a row of the columns [NodeRows.Columns] into a node, whose row it leaves. The node's
// features are in the memory of those that it had. Errors name the column.
func (r *NodeRows) Read(cells []Cell, n *StreamNode) (err error) {
	if err := r.readHead(cells[:headColumns], n); err != nil {
		return err
	}
	n.Features, err = r.features(n.Features[:0], cells[headColumns:])
	return err
}

// headColumns are the first of [NodeRows.Columns]: id, label and split.
const headColumns = 3

// readHead is Read without features.
func (r *NodeRows) readHead(cells []Cell, n *StreamNode) (err error) {
	fixed := [headColumns]int{r.plan.id, r.plan.label, r.plan.split}
	for k, to := range []*string{&n.ID, &n.Label, &n.Split} {
		if *to, err = asWritten(&cells[k], k > 0); err != nil {
			return fmt.Errorf("column %s: %w", r.names[fixed[k]], err)
		}
	}
	n.Split, err = r.roles.role(NodeRow{Label: n.Label, Split: strings.TrimSpace(n.Split)})
	return err
}

// features appends the numbers of the cells of features.
func (r *NodeRows) features(x []float32, cells []Cell) ([]float32, error) {
	if r.plan.list >= 0 {
		x, err := cells[0].appendList(x)
		if err != nil {
			return nil, fmt.Errorf("column features: %w", err)
		}
		return x, nil
	}
	for k, c := range r.plan.features {
		v, err := cells[k].number(r.roles.o.Decimal == ",")
		if err != nil {
			return nil, fmt.Errorf("column %s: %w; %w", r.names[c], err, errNoNumber)
		}
		x = append(x, float32(v))
	}
	return x, nil
}

// EdgeRows reads rows of a table of edges.
type EdgeRows struct {
	names   []string
	plan    edgeColumns
	weights *Table
}

// NewEdgeRows returns what reads rows of a table with columns of these names, which may be more than are read. An
// error names the column that is missing.
func NewEdgeRows(o Tables, names []string) (*EdgeRows, error) {
	plan, err := o.planEdges(names)
	if err != nil {
		return nil, err
	}
	return &EdgeRows{slices.Clone(names), plan, NewTable(o)}, nil
}

// Columns are the indexes of the columns that [EdgeRows.Read] takes, in its order.
func (r *EdgeRows) Columns() []int {
	columns := []int{r.plan.source, r.plan.target}
	if r.plan.weight >= 0 {
		columns = append(columns, r.plan.weight)
	}
	return columns
}

// Read returns the ends of an edge, given the cells of a row of the columns [EdgeRows.Columns]. Errors name the
// column.
func (r *EdgeRows) Read(cells []Cell) (source, target string, err error) {
	if source, err = readID(&cells[0]); err != nil {
		return "", "", fmt.Errorf("column %s: %w", r.names[r.plan.source], err)
	}
	if target, err = readID(&cells[1]); err != nil {
		return "", "", fmt.Errorf("column %s: %w", r.names[r.plan.target], err)
	}
	if r.plan.weight >= 0 {
		if err := r.weights.weight(&cells[2]); err != nil {
			return "", "", fmt.Errorf("column %s: %w", r.names[r.plan.weight], err)
		}
	}
	return source, target, nil
}
