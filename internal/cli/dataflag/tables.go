package dataflag

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// registerTables adds the flags of tables. A command's own --nodes, which comes before, takes a table beside its
// own values.
func (d *Data) registerTables(flags *pflag.FlagSet) {
	t := &d.Tables
	const meaning = "table of nodes: a .csv (.gz, .zst) or .parquet file, or a directory (its path with a slash) of " +
		"such files; with --edges, instead of --data"
	if own := flags.Lookup("nodes"); own != nil {
		own.Value = &orTable{Value: own.Value, path: (*string)(&t.Nodes)}
		own.Usage += "; or a " + meaning + " (the flag may be given twice, for both)"
	} else {
		flags.StringVar((*string)(&t.Nodes), "nodes", "", meaning)
	}
	flags.StringVar(&t.Edges, "edges", "", "table of edges, with --nodes; several have commas between")
	flags.StringVar(&t.ID, "id", "", "tables: column of a node's id; empty: id; several names, id,user_id: that "+
		"which a table has")
	flags.StringVar(&t.Label, "label", "", "tables: column of its class; empty: label")
	flags.StringVar(&t.Task, "task", "",
		"tables: what labels are: classes (also empty); labels: several a node, in one column as a;b or as a list, or in "+
			"a column of true and false for each, --label a,b; number: one column of numbers, or several, a,b; "+
			"links: which nodes an arrival links to, without labels; also of other layouts")
	flags.StringVar(&t.Candidates, "candidates", "",
		"tables, task links: column and value of the nodes that answers have, such as kind=item; empty: all training nodes")
	flags.StringVar(&t.Split, "split", "", "tables: column of its role, or its masks, such as "+
		"train_mask,val_mask,test_mask; empty: split or these, if there are any")
	flags.StringToStringVar(&t.SplitValues, "split-values", nil,
		"tables: what the values of --split stand for, such as 0=train,1=val,2=test; also unlabelled, none")
	flags.StringVar(&t.Time, "time", "",
		"tables: column that says when a node came, a number or a date, which is then no feature; empty: none")
	flags.StringVar(&t.Source, "source", "", "tables: column of an edge's one end; empty: source")
	flags.StringVar(&t.Target, "target", "", "tables: column of its other end; empty: target")
	flags.StringVar(&t.Weight, "weight", "",
		"tables: column of its weight; empty: weight, if there is one; data keeps the weights of graphsaint")
	flags.StringVar(&t.Ends, "ends", "", "tables: types of nodes at the source and the target of edges, user:item, "+
		"where nodes "+
		"of two types have one id: ids are then user:5")
	flags.BoolVar(&t.Degree, "degree", false, "tables: the number of a node's neighbours is a feature, degree")
	flags.StringVar(&t.LabelTable, "label-table", "", "tables: table of ids and labels, where nodes have none in "+
		"their own")
	flags.StringVar(&t.LabelMark, "label-mark", "", "tables, task labels: what stands between the labels of a node; "+
		"empty: ;")
	flags.BoolVar(&t.DropWeights, "drop-weights", false,
		"tables: read any weight of an edge as 1, and say how many were not")
	flags.StringVar(&t.EdgeType, "edge-type", "",
		"tables: column of an edge's type, which the models rsgc and rgcn read, with --directed as two relations a type")
	flags.BoolVar(&t.Directed, "directed", false,
		"edges have directions, from source to target, which the models dirsgc and dirsage read (with types rsgc and rgcn); "+
			"also of graphsaint")
	flags.StringVar(&t.ArrivalEdges, "arrival-edges", "",
		"with --directed: edges that arrivals bring, both, out (they only cite) or in; empty: both")
	flags.BoolVar(&t.DropUnknown, "drop-unknown", false,
		"tables: drop edges to and from ids that no node has, and say how many")
	flags.StringSliceVar(&t.Drop, "drop", nil, "tables: columns of nodes that are no features")
	flags.BoolVar(&t.Positional, "positional", false,
		"tables: features have positions and no names: every other column is a number, or a column features holds lists")
	flags.StringToStringVar(&t.Types, "types", nil,
		"tables: how columns are read, such as zip=category: number, bool, category, text, time, list; others by their "+
			"values")
	flags.StringVar(&t.Separator, "separator", "",
		"CSV: what stands between cells, such as ; or tab, :: or blanks; empty: as in the first line")
	flags.StringToStringVar(&t.Header, "header", nil, "CSV: whether a file's first line has names of columns, "+
		"FILE=first or FILE=none; columns are then 0, 1, …; empty: as the first lines tell")
	flags.StringVar(&t.Decimal, "decimal", "", "CSV: the mark before a number's fraction; empty: a point")
	flags.StringVar(&t.Encoding, "encoding", "", "CSV: utf-8, latin1 or windows-1252; empty: utf-8")
}

// orTable is a flag of a command that takes the path of a table, too: a text with a dot or a slash.
type orTable struct {
	pflag.Value
	path *string
	own  bool // a value of the flag's own was given
}

func (o *orTable) Set(text string) error {
	if !strings.ContainsAny(text, "./\\") {
		o.own = true
		return o.Value.Set(text)
	}
	if *o.path != "" {
		return fmt.Errorf("two tables of nodes are given, %s and %s: want one", *o.path, text)
	}
	*o.path = text
	return nil
}

// Own reports whether a command's own flag --nodes was given a value of its own, not only a table.
func Own(flags *pflag.FlagSet) bool {
	value, ok := flags.Lookup("nodes").Value.(*orTable)
	return ok && value.own
}

// TableFlags lists the flags of tables, except --nodes.
var TableFlags = []string{"edges", "id", "label", "task", "candidates", "split", "split-values", "source", "target",
	"weight",
	"ends", "degree", "label-table", "label-mark", "header", "drop-weights", "edge-type", "directed", "arrival-edges",
	"drop-unknown",
	"drop", "positional", "types", "separator", "decimal", "encoding"}

// checkTables returns an error unless both tables are named, and no flag contradicts them.
func (d *Data) checkTables() error {
	switch {
	case d.Tables.Edges == "":
		return fmt.Errorf("--nodes %s is given without --edges: want both tables", d.Tables.Nodes)
	case d.Tables.Nodes == "" && d.Tables.Ends == "" && d.Tables.HasLabels():
		return fmt.Errorf("--edges %s is given without a table --nodes: want both tables", d.Tables.Edges)
	case d.Format != "":
		return fmt.Errorf("--format is %s, and the form of a table follows from its name", d.Format)
	}
	return nil
}
