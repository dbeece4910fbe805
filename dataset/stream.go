package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stream is a data set of tables that is read row by row: features by position, a column split. Nothing is
// checked that needs more than a row.
type Stream struct {
	Name     string
	Rows     int64 // nodes
	Features int
	// Identity changes when the files do: their names, sizes and times.
	Identity string

	nodes, edges tableSource
	o            Tables
}

// StreamNode is a row of nodes. Its features are valid until the next.
type StreamNode struct {
	Row      int64 // from 1, over all files
	ID       string
	Label    string
	Split    string // train, val, test, unlabelled, or empty
	Features []float32
}

// OpenStream returns a data set that can be read row by row; false if this one cannot be: it is no tables, its
// features are not numbers or have names, or it has no column split. It reads the table of nodes once, to count
// and to see.
func OpenStream(dir string, o OpenOptions) (*Stream, bool, error) {
	f, err := o.format(dir)
	if err != nil || f.tables == nil || !o.Tables.IsZero() {
		return nil, false, nil //nolint:nilerr // Open says what is wrong
	}
	nodes, errNodes := tableFiles(dir, "nodes", f.tables.exts...)
	edges, errEdges := tableFiles(dir, "edges", f.tables.exts...)
	if errNodes != nil || errEdges != nil {
		return nil, false, nil
	}
	s := &Stream{
		nodes: tableSource{dir, nodes, f.tables.open, TextForm{}},
		edges: tableSource{dir, edges, f.tables.open, TextForm{}},
	}
	if s.Name, err = nameOf(dir); err != nil {
		return nil, false, err
	}
	for _, name := range slices.Concat(nodes, edges) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return nil, false, err
		}
		s.Identity += fmt.Sprintf("%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	split := true
	err = s.nodes.each(func(t TableFile) error {
		plan, err := s.o.planNodes(t.Columns(), true)
		if err != nil {
			return err
		}
		if split = plan.split >= 0; !split {
			return errNoNumber
		}
		return t.Each(s.featureColumns(plan), func(cells []Cell, _ Place) error {
			if s.Rows++; s.Rows > 1 { // the rest is seen as it is read
				return nil
			}
			x, err := featureCells(nil, cells, plan, t.Columns())
			s.Features = len(x)
			return err
		})
	})
	if errors.Is(err, errNoNumber) || !split {
		return nil, false, nil
	}
	if err == nil && s.Rows == 0 {
		err = errors.New("there are no nodes")
	}
	if err != nil {
		return nil, false, fmt.Errorf("loading data set %s (%s): %w", dir, f.Name, err)
	}
	return s, true, nil
}

func (s *Stream) featureColumns(plan nodeColumns) []int {
	if plan.list >= 0 {
		return []int{plan.list}
	}
	return plan.features
}

// featureCells appends the numbers of the cells of features.
func featureCells(x []float32, cells []Cell, plan nodeColumns, names []string) ([]float32, error) {
	if plan.list >= 0 {
		x, err := cells[0].appendList(x)
		if err != nil {
			return nil, fmt.Errorf("column features: %w", err)
		}
		return x, nil
	}
	for k, c := range plan.features {
		v, err := cells[k].number(false)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w; %w", names[c], err, errNoNumber)
		}
		x = append(x, float32(v))
	}
	return x, nil
}

// EachNode calls use with every row of nodes.
func (s *Stream) EachNode(use func(StreamNode) error) error {
	n := StreamNode{}
	roles := NewTable(s.o)
	return s.nodes.each(func(t TableFile) error {
		plan, err := s.o.planNodes(t.Columns(), true)
		if err != nil {
			return err
		}
		names, fixed := t.Columns(), []int{plan.id, plan.label, plan.split}
		if plan.split < 0 {
			return errors.New("there is no column split")
		}
		return t.Each(slices.Concat(fixed, s.featureColumns(plan)), func(cells []Cell, _ Place) error {
			n.Row++
			for k, to := range []*string{&n.ID, &n.Label, &n.Split} {
				if *to, err = asWritten(&cells[k], k > 0); err != nil {
					return fmt.Errorf("column %s: %w", names[fixed[k]], err)
				}
			}
			if n.Split, err = roles.role(NodeRow{Label: n.Label, Split: strings.TrimSpace(n.Split)}); err != nil {
				return err
			}
			n.Features, err = featureCells(n.Features[:0], cells[len(fixed):], plan, names)
			if err != nil {
				return err
			}
			return use(n)
		})
	})
}

// EachEdge calls use with the ends of every row of edges, and its number from 1 over all files.
func (s *Stream) EachEdge(use func(row int64, source, target string) error) error {
	row := int64(0)
	weights := NewTable(s.o)
	return s.edges.each(func(t TableFile) error {
		plan, err := s.o.planEdges(t.Columns())
		if err != nil {
			return err
		}
		columns := []int{plan.source, plan.target}
		if plan.weight >= 0 {
			columns = append(columns, plan.weight)
		}
		return t.Each(columns, func(cells []Cell, _ Place) error {
			row++
			var ends [2]string
			for k := range ends {
				if ends[k], err = readID(&cells[k]); err != nil {
					return fmt.Errorf("column %s: %w", t.Columns()[columns[k]], err)
				}
			}
			if len(cells) > 2 {
				if err := weights.weight(&cells[2]); err != nil {
					return fmt.Errorf("column %s: %w", t.Columns()[plan.weight], err)
				}
			}
			return use(row, ends[0], ends[1])
		})
	})
}
