package table

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// NodeType is the column that names each node's type, where nodes of several types have a table each.
const NodeType = "node_type"

// NodeTable is the table of the nodes of one type.
type NodeTable struct{ Type, Path string }

var namedTable = regexp.MustCompile(`^([^=./\\]+)=(.+)$`)

// NodeTables returns the tables that Nodes names, one for each type of nodes; nil: nodes are of one type, in one table.
func (t Settings) NodeTables() (tables []NodeTable) {
	for part := range strings.SplitSeq(strings.TrimSuffix(string(t.Nodes), ","), ",") {
		of := namedTable.FindStringSubmatch(strings.TrimSpace(part))
		if of == nil {
			return nil
		}
		tables = append(tables, NodeTable{of[1], of[2]})
	}
	if len(tables) < 2 && t.Ends == "" { // split=train/part.csv is a path
		return nil
	}
	return tables
}

// mapNodes applies a function to the path of each table of nodes.
func (t Settings) mapNodes(path func(string) string) NodesPath {
	tables := t.NodeTables()
	if tables == nil {
		return NodesPath(path(string(t.Nodes)))
	}
	var parts []string
	for _, of := range tables {
		parts = append(parts, of.Type+"="+path(of.Path))
	}
	return NodesPath(strings.Join(parts, ","))
}

// checkNodeTables returns an error for types that cannot be told apart, and for features by position, which types of
// nodes do not have.
func (t Settings) checkNodeTables() error {
	tables := t.NodeTables()
	if tables == nil && strings.HasSuffix(string(t.Nodes), ",") {
		return errors.New("nodes has the tables of 1 types, want at least 2, or the path of one table, or the types at the " +
			"ends of edges (ends: user:item)")
	}
	for k, of := range tables {
		switch {
		case slices.ContainsFunc(tables[:k], func(other NodeTable) bool { return other.Type == of.Type }):
			return fmt.Errorf("nodes: two tables are of the type %.100q", of.Type)
		case t.Positional:
			return errors.New("nodes have types, whose features have names: --positional (positional) is for one table " +
				"of nodes")
		case t.Features != "":
			return errors.New("nodes have types, whose features are columns of their tables: a table of features (features) " +
				"is for one table of nodes")
		}
	}
	return nil
}

// NodesPath is the path of the table of nodes. Nodes of several types have a table each: user=users.csv,item=items.csv,
// in a file a mapping of types to paths.
type NodesPath string

// UnmarshalYAML reads a path, or a mapping of at least two types to paths.
func (p *NodesPath) UnmarshalYAML(of *yaml.Node) error {
	if of.Kind != yaml.MappingNode {
		return of.Decode((*string)(p))
	}
	var parts []string
	for i := 0; i+1 < len(of.Content); i += 2 {
		name, path := of.Content[i].Value, of.Content[i+1].Value
		part := name + "=" + path
		if strings.Contains(part, ",") || namedTable.FindStringSubmatch(part) == nil {
			return fmt.Errorf("line %d: nodes: %.100q is %.100q, want a type, without point, slash and comma, and the path of "+
				"its table", of.Content[i].Line, name, path)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return fmt.Errorf("line %d: nodes has no table, want those of its types, or the path of one table", of.Line)
	}
	if *p = NodesPath(strings.Join(parts, ",")); len(parts) == 1 {
		*p += "," // the path split=train/part.csv is no mapping
	}
	return nil
}

// MarshalYAML writes several tables as a mapping of types to paths.
func (p NodesPath) MarshalYAML() (any, error) {
	tables := Settings{Nodes: p}.NodeTables()
	if tables == nil {
		return string(p), nil
	}
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, of := range tables {
		var name, path yaml.Node
		name.SetString(of.Type)
		path.SetString(of.Path)
		out.Content = append(out.Content, &name, &path)
	}
	return out, nil
}

// typeColumns describes the columns of the tables of several types of nodes.
type typeColumns struct {
	names       []string            // of all tables' columns together
	categorical []bool              // of each of them
	of          map[string]string   // the type whose nodes have a column; columns that all types share have none
	columns     map[string][]string // of a table's columns the names among all, by its type
}

// TypedNodes finds the tables of nodes by their types as one table. It has the columns of all of them and, first, the
// column [NodeType]. Columns of one name in several tables become columns of their own, user.age and item.age, unless
// they have a meaning of their own, such as id, label and split.
func TypedNodes(t Settings, kinds []Kind, edges Source) (Source, error) {
	ends, err := t.EndTypes()
	if err != nil {
		return Source{}, err
	}
	of := &typeColumns{names: []string{NodeType}, categorical: []bool{true}, of: map[string]string{},
		columns: map[string][]string{}}
	out := Source{types: of}
	opens, typeOf := map[string]Opener{}, map[string]string{}
	var bare []string // types without a table
	for _, pair := range ends {
		for _, kind := range pair {
			if !slices.Contains(bare, kind) && !slices.ContainsFunc(t.NodeTables(), func(of NodeTable) bool {
				return of.Type == kind
			}) {
				bare = append(bare, kind)
			}
		}
	}
	categorical := map[string]bool{} // by type and column
	seen := map[string]int{}
	for _, one := range t.NodeTables() {
		s, err := Named(one.Path, kinds, t.TextForm)
		if err != nil {
			return out, err
		}
		s = s.with(renamed(t.ID))
		own, categories, err := s.Columns()
		if err != nil {
			return out, err
		}
		for i, name := range own {
			categorical[one.Type+"."+name] = categories[i]
		}
		if slices.Contains(own, NodeType) {
			return out, fmt.Errorf("%s: it has a column %s, which names the types of nodes (%s) here: rename or leave it out",
				one.Path, NodeType, t.Nodes)
		}
		if _, err := find(own, t.ID, "id", true); err != nil {
			return out, fmt.Errorf("%s: %w", one.Path, err)
		}
		for _, name := range own {
			seen[name]++
		}
		of.columns[one.Type] = own
		for _, path := range s.Paths() {
			opens[path], typeOf[path] = s.open, one.Type
		}
		out.Files = append(out.Files, s.Paths()...)
	}
	for _, one := range t.NodeTables() {
		own := of.columns[one.Type]
		for i, name := range own {
			shared := t.shared(name)
			if !shared && seen[name] > 1 {
				own[i] = one.Type + "." + name
			}
			if !shared {
				of.of[own[i]] = one.Type
			}
			if !slices.Contains(of.names, own[i]) {
				of.names, of.categorical = append(of.names, own[i]), append(of.categorical, categorical[one.Type+"."+name])
			}
		}
		if err := distinctNames(own); err != nil {
			return out, fmt.Errorf("%s: %w", one.Path, err)
		}
	}
	if id := cmp.Or(t.ID, "id"); !slices.Contains(of.names, id) {
		of.names, of.categorical = append(of.names, id), append(of.categorical, false)
	}
	if bare != nil {
		s := t.nodesOf(edges, bare)
		for _, path := range s.Paths() {
			if opens[path] != nil {
				return out, fmt.Errorf("%s has nodes and edges, and type %s has no table", path, bare[0])
			}
			opens[path] = s.open
		}
		out.Files = append(out.Files, s.Paths()...)
	}
	first := map[string][]string{} // a type's columns as its first file has them
	out.form = t.TextForm
	out.open = func(f *os.File, name string, size int64, form TextForm, use func(File) error) error {
		return opens[name](f, name, size, form, func(file File) error {
			kind := typeOf[name]
			if kind == "" { // of the types without a table
				return use(of.view(file, ""))
			}
			file, err := partitioned(file, name)
			if err != nil {
				return err
			}
			if first[kind] == nil {
				first[kind] = slices.Clone(file.Columns())
			}
			if file, err = ordered(file, first[kind]); err != nil {
				return err
			}
			file = of.view(file, kind)
			if ends != nil {
				file = &changed{file, map[int]func(*Cell) error{slices.Index(of.names, cmp.Or(t.ID, "id")): ofType(kind)}}
			}
			return use(file)
		})
	}
	return out, nil
}

// shared reports whether a column has one meaning in the tables of all types.
func (t Settings) shared(name string) bool {
	return name == cmp.Or(t.ID, "id") || slices.Contains(t.Labels(), name) || name == t.Time ||
		slices.Contains(strings.Split(t.Split, ","), name) || slices.Contains(t.Drop, name) || isIndex(name) ||
		maskNames[strings.ToLower(name)] != "" || slices.Contains(usualSplits, strings.ToLower(name))
}

// view shows a table of one type with the columns of all.
func (of *typeColumns) view(file File, kind string) File {
	v := &typeFile{view: view{File: file, names: of.names, values: make([]Cell, len(of.names))}, of: of}
	v.values[0] = Cell{Kind: Text, Text: kind}
	own := of.columns[kind]
	if kind == "" {
		own = file.Columns()
	}
	for _, name := range of.names {
		v.from = append(v.from, slices.Index(own, name))
	}
	return v
}

// typeFile is a table of one type with the columns of all types.
type typeFile struct {
	view
	of *typeColumns
}

// typed reports whether nodes are of several types, or of one that its ids name.
func (t Settings) typed() bool { return t.NodeTables() != nil || t.Ends != "" }

func (v *typeFile) Categorical(column int) bool { return v.of.categorical[column] }

// has reports whether a column is one of the file's own, or the type's.
func (v *typeFile) has(column int) bool { return column == 0 || v.from[column] >= 0 }

// ColumnTypes returns the type whose nodes have a column, by the column's name; nil: nodes are of one type.
func (s *Stream) ColumnTypes() map[string]string {
	if s.nodes.types == nil {
		return nil
	}
	return s.nodes.types.of
}

// elsewhere is the number of nodes of other types than the one that has a column.
func (s *Stream) elsewhere(column string) int {
	if column == DegreeColumn && s.settings.Degree {
		return 0
	}
	kind, ok := s.ColumnTypes()[column]
	if !ok {
		return 0
	}
	return int(s.Rows) - s.columns[0].distinct[kind]
}
