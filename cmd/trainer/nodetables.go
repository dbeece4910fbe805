package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rivulet/dataset/table"
)

// findTables is [table.Find], which takes one table of nodes. Where nobody names that table, other tables of the
// directory are taken for further types of nodes if their ids are ends of edges.
func findTables(dir string, s table.Settings) (*table.Found, error) {
	one, errOne := table.Find(dir, s, tableKinds)
	if s.Nodes != "" {
		return one, errOne
	}
	first := ""
	if errOne == nil {
		first = string(one.Settings.Nodes)
	}
	types := typesOfNodes(dir, first, s)
	if len(types) < 2 || first != "" && types[0].Path != first {
		return one, errOne
	}
	var parts []string
	for _, of := range types {
		parts = append(parts, of.Type+"="+of.Path)
	}
	s.Nodes = table.NodesPath(strings.Join(parts, ","))
	several, err := table.Find(dir, s, tableKinds)
	switch {
	case err == nil:
		several.Guesses = slices.Insert(several.Guesses, 0, fmt.Sprintf("nodes: %s are tables of a type of nodes each, a "+
			"guess by their ids, which edges have as ends", baseNames(types)))
		return several, nil
	case errOne == nil:
		return one, nil
	}
	return nil, err
}

// baseNames lists the files of tables.
func baseNames(types []table.NodeTable) string {
	var names []string
	for _, of := range types {
		names = append(names, filepath.Base(of.Path))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// typesOfNodes returns the tables of a directory that may each have the nodes of a type: distinct ids under one name of
// a column, some of them ends of edges and none of them in another table. Tables of the same columns are parts of one
// table, unless they have ids alone. The type is the name of the file up to its first point. The table at first comes
// before others that have its ids.
func typesOfNodes(dir, first string, s table.Settings) (types []table.NodeTable) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 3 {
		return nil
	}
	if k := slices.IndexFunc(entries, func(e os.DirEntry) bool { return filepath.Join(dir, e.Name()) == first }); k > 0 {
		at := entries[k]
		entries = slices.Insert(slices.Delete(entries, k, k+1), 0, at)
	}
	edges, err := table.FindEdges(dir, s, tableKinds)
	if err != nil {
		return nil
	}
	s = edges.Settings
	ends, err := firstValues(s.Edges, s.TextForm, s.Source, s.Target)
	if err != nil {
		return nil
	}
	known := map[string]int{} // ids of the tables so far
	var headers [][]string
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry.Name(), ".")
		path := filepath.Join(dir, entry.Name())
		if name == "" || strings.ContainsAny(name, "=,") || path == filepath.Clean(s.Edges) || !isTable(entry) {
			continue
		}
		source, err := table.Named(path, tableKinds, s.TextForm)
		if err != nil {
			continue
		}
		columns, _, err := source.Columns()
		id := s.ID
		if id == "" {
			id = table.UsualID(columns)
		}
		if err != nil || !slices.Contains(columns, id) ||
			len(columns) > 1 && slices.ContainsFunc(headers, func(of []string) bool { return slices.Equal(of, columns) }) {
			continue
		}
		ids, err := firstValues(path, s.TextForm, id)
		if err != nil || !namesNodes(ids, ends, known) {
			continue
		}
		for name := range ids {
			known[name]++
		}
		s.ID = id // has one name in all tables
		types, headers = append(types, table.NodeTable{Type: name, Path: path}), append(headers, columns)
	}
	return types
}

// isTable reports whether the name of a file is that of a table. A directory may be one.
func isTable(entry os.DirEntry) bool {
	return entry.IsDir() || slices.ContainsFunc(tableKinds, func(kind table.Kind) bool {
		return slices.ContainsFunc(kind.Exts, func(ext string) bool { return strings.HasSuffix(entry.Name(), ext) })
	})
}

// namesNodes reports whether the values of a column are the ids of nodes: none occurs twice or is known, and some are
// ends of edges.
func namesNodes(ids, ends, known map[string]int) bool {
	met := 0
	for id, times := range ids {
		if times > 1 || known[id] > 0 {
			return false
		}
		met += min(1, ends[id])
	}
	return met > 0
}

// firstRows is the number of rows of a table that are looked at for its ids.
const firstRows = 100_000

var errEnoughRows = errors.New("enough rows are read")

// firstValues returns how often each value occurs in some columns of a table, in its first rows.
func firstValues(path string, form table.TextForm, columns ...string) (map[string]int, error) {
	source, err := table.Named(path, tableKinds, form)
	if err != nil {
		return nil, err
	}
	times, rows := map[string]int{}, 0
	err = source.Each(func(f table.File) error {
		var which []int
		for _, name := range columns {
			which = append(which, slices.Index(f.Columns(), name))
		}
		return f.Each(which, func(cells []table.Cell, _ table.Place) error {
			for _, cell := range cells {
				times[idOf(&cell)]++
			}
			if rows++; rows == firstRows {
				return errEnoughRows
			}
			return nil
		})
	})
	if errors.Is(err, errEnoughRows) {
		err = nil
	}
	delete(times, "")
	return times, err
}

// idOf is the id in a cell; empty if there is none.
func idOf(c *table.Cell) string {
	switch c.Kind {
	case table.Raw, table.Text:
		return strings.Clone(strings.TrimSpace(c.Text))
	case table.Float:
		return strconv.FormatFloat(c.Float, 'f', -1, 64)
	case table.Null:
		return ""
	}
	return c.String()
}
