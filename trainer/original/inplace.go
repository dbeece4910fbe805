package original

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"rivulet/dataset/table"
	"rivulet/infer/target"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
)

// InPlace gives tables of Parquet that an engine's machines read where they lie. Their paths are o.Nodes and o.Edges;
// features have positions, and the nodes a column split. The rest of o gives the columns their meaning. An error names
// the table.
func InPlace(ctx context.Context, e stage.Engine, name string, o table.Settings) (RowData, error) {
	looker, ok := e.(stage.Looker)
	if !ok {
		return RowData{}, fmt.Errorf("table %s: %w", o.Nodes, stage.ErrNotInPlace)
	}
	if err := CheckInPlace(o); err != nil {
		return RowData{}, err
	}
	tables, err := looker.Look(ctx, string(o.Nodes), o.Edges)
	if err != nil {
		return RowData{}, err
	}
	nodes, edges := tables[0], tables[1]
	rows, err := table.NewNodeReader(o, nodes.Names())
	if err != nil {
		return RowData{}, fmt.Errorf("table %s: %w", nodes.Path, err)
	}
	if err := o.CheckRows(); err != nil {
		return RowData{}, err
	}
	ends, err := table.NewEdgeReader(o, edges.Names())
	if err != nil {
		return RowData{}, fmt.Errorf("table %s: %w", edges.Path, err)
	}
	s := RowData{Name: name, Count: nodes.Rows(), Features: rows.Features(), dropUnknown: o.DropUnknown}
	if s.Count == 0 {
		return RowData{}, fmt.Errorf("table %s: there are no nodes", nodes.Path)
	}
	if list := rows.List(); list >= 0 {
		if s.Features, err = looker.Length(ctx, nodes, list); err != nil {
			return RowData{}, err
		}
	}
	s.Nodes = inPlace(nodes, rows.Columns(), o)
	s.Edges = inPlace(edges, ends.Columns(), o)
	return s, nil
}

// inPlace is a table with the columns that are read.
func inPlace(t *stage.InPlace, columns []int, o table.Settings) stage.Source {
	return stage.Source{Identity: "in place " + t.Path, InPlace: t.Only(columns), Form: partition.FormOf(t, o)}
}

// password is how a URL with one begins.
var password = regexp.MustCompile(`^[^:/]+://[^/@]*:[^/]*@`)

// CheckInPlace returns an error for settings that [InPlace] does not take. It names the flag.
func CheckInPlace(o table.Settings) error {
	switch {
	case o.Features != "":
		return fmt.Errorf("table %s: a table of features (features: %s) is read from a file, not by URL", o.Nodes, o.Features)
	case !o.Positional:
		return fmt.Errorf(
			"table %s: features by name are fitted to all rows, which Spark alone sees of a table by URL: give --positional, "+
				"for features that are numbers, or the path of a file", o.Nodes)
	case o.Separator != "" || o.Encoding != "" || o.Header != nil || o.Decimal != "":
		return errors.New("--separator, --decimal, --encoding and --header are for CSV, and tables by URL are Parquet")
	}
	for _, path := range []string{string(o.Nodes), o.Edges} {
		if password.MatchString(path) {
			return errors.New(
				"the URL of a table has a password, which would be in statements and logs: give it to Spark by its configuration")
		}
		for _, ext := range []string{".csv", ".csv.gz", ".csv.zst"} {
			if strings.HasSuffix(path, ext) {
				return fmt.Errorf("table %s: tables by URL are Parquet", path)
			}
		}
	}
	task, err := target.Parse(o.Task)
	return cmp.Or(err, o.Validate(), task.Require("reading tables by URL (--engine spark)"))
}
