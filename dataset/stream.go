package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
// features are not numbers or have names, or it has no column split. An empty path means the tables that o.Tables
// names. It reads the table of nodes once, to count and to see.
func OpenStream(path string, o OpenOptions) (*Stream, bool, error) {
	s, err := o.stream(path)
	if err != nil || s == nil {
		return nil, false, nil //nolint:nilerr // Open says what is wrong
	}
	for _, name := range slices.Concat(s.nodes.files, s.edges.files) {
		info, err := os.Stat(filepath.Join(s.nodes.dir, name))
		if err != nil {
			return nil, false, err
		}
		s.Identity += fmt.Sprintf("%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	s.Identity += s.Meaning()
	ok, err := s.look()
	if err != nil {
		return nil, false, fmt.Errorf("loading data set %s: %w", cmp.Or(path, s.Name), err)
	}
	return s, ok, nil
}

// stream finds the files of a data set that may be read row by row; nil if it is none.
func (o OpenOptions) stream(path string) (s *Stream, err error) {
	if path == "" {
		if !o.Tables.Positional {
			return nil, nil
		}
		s = &Stream{Name: o.Tables.Name(), o: o.Tables}
		s.nodes, s.edges, err = o.sources()
		return s, err
	}
	f, err := o.format(path)
	switch {
	case err != nil:
		return nil, err
	case f.Name == describedTables:
		described, name, err := o.described(path)
		if err != nil || !described.Tables.Positional {
			return nil, err
		}
		s = &Stream{Name: name, o: described.Tables}
		s.nodes, s.edges, err = described.sources()
		return s, err
	case f.tables == nil || !o.Tables.IsZero() && !o.Tables.Positional:
		return nil, nil
	}
	nodes, errNodes := tableFiles(path, "nodes", f.tables.exts...)
	edges, errEdges := tableFiles(path, "edges", f.tables.exts...)
	if err := errors.Join(errNodes, errEdges, o.Tables.Validate()); err != nil {
		return nil, err
	}
	s = &Stream{
		nodes: tableSource{path, nodes, f.tables.open, o.Tables.TextForm},
		edges: tableSource{path, edges, f.tables.open, o.Tables.TextForm},
		o:     o.Tables,
	}
	s.Name, err = nameOf(path)
	return s, err
}

// look counts the features of the first node, and the nodes; false if features have names, or there is no split.
func (s *Stream) look() (ok bool, err error) {
	split := true
	err = s.nodes.each(func(t TableFile) error {
		plan, err := s.o.planNodes(t.Columns(), true)
		if err != nil {
			return err
		}
		if split = plan.split >= 0; !split {
			return errNoNumber
		}
		rows := &NodeRows{t.Columns(), plan, NewTable(s.o)}
		return t.Each(plan.values(), func(cells []Cell, _ Place) error {
			x, err := rows.features(nil, cells)
			s.Features = len(x)
			return cmp.Or(err, errSeen)
		})
	})
	switch {
	case !split || !s.o.Positional && errors.Is(err, errNoNumber):
		return false, nil
	case err == nil:
		err = errors.New("there are no nodes")
	case errors.Is(err, errSeen):
		err = s.count()
	}
	return true, err
}

// count counts the nodes. Their ids alone are read: the rest is seen later.
func (s *Stream) count() error {
	return s.nodes.each(func(t TableFile) error {
		plan, err := s.o.planNodes(t.Columns(), true)
		if err != nil {
			return err
		}
		return t.Each([]int{plan.id}, func([]Cell, Place) error {
			s.Rows++
			return nil
		})
	})
}

// errSeen ends a reading after the first row.
var errSeen = errors.New("the first row is enough")

// Meaning says by what the columns of the tables are read; empty: by their convention.
func (s *Stream) Meaning() string {
	if !s.o.Positional {
		return ""
	}
	return fmt.Sprintf("%+v\n", s.o)
}

// Files returns the paths of the files of both tables, those of nodes first.
func (s *Stream) Files() []string {
	var files []string
	for _, t := range []tableSource{s.nodes, s.edges} {
		for _, name := range t.files {
			files = append(files, filepath.Join(t.dir, name))
		}
	}
	return files
}

// EachID is [Stream.EachNode] without features, which are not read where a file has columns of their own.
func (s *Stream) EachID(use func(StreamNode) error) error {
	n := StreamNode{}
	return s.nodes.each(func(t TableFile) error {
		rows, err := NewNodeRows(s.o, t.Columns())
		if err != nil {
			return err
		}
		return t.Each(rows.Columns()[:headColumns], func(cells []Cell, _ Place) error {
			n.Row++
			if err := rows.readHead(cells, &n); err != nil {
				return err
			}
			return use(n)
		})
	})
}

// EachNode calls use with every row of nodes.
func (s *Stream) EachNode(use func(StreamNode) error) error {
	n := StreamNode{}
	return s.nodes.each(func(t TableFile) error {
		rows, err := NewNodeRows(s.o, t.Columns())
		if err != nil {
			return err
		}
		return t.Each(rows.Columns(), func(cells []Cell, _ Place) error {
			n.Row++
			if err := rows.Read(cells, &n); err != nil {
				return err
			}
			return use(n)
		})
	})
}

// EachEdge calls use with the ends of every row of edges, and its number from 1 over all files.
func (s *Stream) EachEdge(use func(row int64, source, target string) error) error {
	row := int64(0)
	return s.edges.each(func(t TableFile) error {
		rows, err := NewEdgeRows(s.o, t.Columns())
		if err != nil {
			return err
		}
		return t.Each(rows.Columns(), func(cells []Cell, _ Place) error {
			row++
			source, target, err := rows.Read(cells)
			if err != nil {
				return err
			}
			return use(row, source, target)
		})
	})
}
