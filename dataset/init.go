package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rivulet/schema"
)

// The names that columns of tables often have, most usual first.
var (
	usualIDs     = []string{"id", "node_id", "user_id", "userid", "uid", "node", "name", "key"}
	usualLabels  = []string{"label", "class", "target", "y", "category", "churned", "is_fraud", "fraud"}
	usualSplits  = []string{"split", "fold", "role", "subset", "set"}
	usualSources = []string{"source", "src", "from", "follower", "source_id", "src_id", "u", "a"}
	usualTargets = []string{"target", "dst", "to", "followee", "target_id", "dst_id", "dest", "destination", "v", "b"}
	usualWeights = []string{"weight", "w"}
	usualNodes   = []string{"nodes", "users", "accounts", "vertices", "papers", "items"}
	usualEdges   = []string{"edges", "follows", "links", "relations", "transactions", "transfers"}
)

// Found is what FindTables has found: settings, and what is known of each column, as lines for people.
type Found struct {
	Tables  Tables
	Columns []string
	// Guesses say what was guessed and should be looked at.
	Guesses []string
}

// FindTables looks for two tables in a directory, unless o.Tables names them, and for the meaning of their
// columns.
func FindTables(dir string, o OpenOptions) (*Found, error) {
	f := &Found{Tables: o.Tables}
	t := &f.Tables
	for _, table := range []struct {
		path  *string
		what  string
		usual []string
	}{{&t.Nodes, "nodes", usualNodes}, {&t.Edges, "edges", usualEdges}} {
		if *table.path != "" {
			continue
		}
		path, err := o.find(dir, table.usual)
		if err != nil {
			return nil, fmt.Errorf("%w: name the table of %s (--%s)", err, table.what, table.what)
		}
		*table.path = path
	}
	o.Tables = *t
	nodes, err := o.source(t.Nodes)
	if err != nil {
		return nil, err
	}
	edges, err := o.source(t.Edges)
	if err != nil {
		return nil, err
	}
	if err := f.nodes(nodes); err != nil {
		return nil, err
	}
	return f, f.edges(edges)
}

// find returns the table of a directory that has one of the usual names.
func (o OpenOptions) find(dir string, usual []string) (string, error) {
	for _, name := range usual {
		for _, f := range append(Formats(), o.More...) {
			if f.tables == nil {
				continue
			}
			for _, ext := range f.tables.exts {
				if hasFile(name + ext)(dir) {
					return filepath.Join(dir, name+ext), nil
				}
			}
			if several, err := shards(filepath.Join(dir, name), f.tables.exts); err == nil && len(several) > 0 {
				return filepath.Join(dir, name), nil
			}
		}
	}
	if _, err := os.Stat(dir); err != nil {
		return "", err
	}
	return "", fmt.Errorf("%w in %s is named %s", ErrNoTable, dir, strings.Join(usual, ", "))
}

// ErrNoTable means that a directory has no table under a name that [FindTables] looks for.
var ErrNoTable = errors.New("no table")

// survey reads all columns of a table.
func (f *Found) survey(s tableSource) (columns []*survey, names []string, err error) {
	err = s.each(func(file TableFile) (err error) {
		names = slices.Clone(file.Columns())
		var all []int
		for i := range names {
			all = append(all, i)
		}
		columns, err = surveyColumns(file, all, columns, f.Tables)
		return err
	})
	return columns, names, err
}

func (f *Found) nodes(s tableSource) error {
	columns, names, err := f.survey(s)
	if err != nil {
		return err
	}
	t := &f.Tables
	if err := errors.Join(f.guess(&t.ID, "id", names, usualIDs, true), f.guess(&t.Label, "label", names, usualLabels, true),
		f.guess(&t.Split, "split", names, usualSplits, false)); err != nil {
		return err
	}
	f.commas(columns)
	for i, c := range columns {
		used := ""
		switch name := names[i]; {
		case name == t.ID || name == t.Label:
			used = "used"
		case name == t.Split:
			f.roles(c)
			used = "used"
		case name == "":
			return fmt.Errorf(`%s: column "" is the row number that pandas writes: write the table with index=False`,
				strings.Join(s.files, ", "))
		case isIndex(name) && !slices.Contains(t.Drop, name):
			t.Drop = append(t.Drop, name)
			f.Guesses = append(f.Guesses, fmt.Sprintf("drop %s: the row number that pandas writes", name))
		}
		f.Columns = append(f.Columns, f.describe(c, used))
	}
	return nil
}

// commas says that commas divide fractions if a column has nothing but such numbers.
func (f *Found) commas(columns []*survey) {
	for _, c := range columns {
		if n := c.forms[asCommas]; f.Tables.Decimal == "" && n > 0 && n+c.forms[asNumber] == c.kinds[Raw] {
			f.Tables.Decimal = ","
			f.Guesses = append(f.Guesses,
				fmt.Sprintf("decimal \",\": column %s has numbers such as %s", c.name, c.first[asCommas].text))
		}
	}
}

// describe returns a line for people; used is empty for a feature.
func (f *Found) describe(c *survey, used string) string {
	what, missing := "", max(c.nulls, c.words)
	switch kind, err := c.columnType(); {
	case slices.Contains(f.Tables.Drop, c.name):
		what = "dropped"
	case errors.Is(err, errNoValues):
		what = "no value: not used"
	case err != nil && !(f.Tables.Decimal == "," && c.forms[asCommas] > 0):
		what = "drop it, or say its type: " + err.Error()
	case used != "":
		what = used
	case c.categorical:
		what = "category"
	case err != nil:
		what = "number"
	default:
		what = kind.String()
		switch kind {
		case schema.Text:
			what, missing = "text", c.nulls
		case schema.Vector:
			what = "list"
		}
	}
	line := fmt.Sprintf("%s: %s", c.name, what)
	if missing > 0 {
		line += fmt.Sprintf("; %d of %d missing", missing, c.rows)
	}
	if n := len(c.distinct); n > 0 && n < fewDistinct {
		line += fmt.Sprintf("; %d values", n)
	}
	return line + "; such as " + strings.Join(c.sample, ", ")
}

// roles guesses what the values of the split stand for.
func (f *Found) roles(c *survey) {
	if f.Tables.SplitValues != nil {
		return
	}
	var unknown []string
	for value := range c.distinct {
		if _, ok := splitNames[strings.ToLower(value)]; !ok {
			unknown = append(unknown, value)
		}
	}
	if len(unknown) == 0 {
		return
	}
	slices.SortFunc(unknown, byValue(unknown))
	f.Tables.SplitValues = map[string]string{}
	var guesses []string
	for k, value := range unknown {
		role := "none"
		if k < 3 {
			role = []string{"train", "val", "test"}[k]
		}
		if c.integersAsFloats() {
			value = strings.TrimSuffix(value, ".0")
		}
		f.Tables.SplitValues[value] = role
		guesses = append(guesses, value+"="+role)
	}
	f.Guesses = append(f.Guesses,
		fmt.Sprintf("split_values: %s is a guess by the order of the values", strings.Join(guesses, ",")))
}

func (f *Found) edges(s tableSource) error {
	columns, names, err := f.survey(s)
	if err != nil {
		return err
	}
	t := &f.Tables
	if err := errors.Join(f.guess(&t.Source, "source", names, usualSources, true),
		f.guess(&t.Target, "target", names, usualTargets, true),
		f.guess(&t.Weight, "weight", names, usualWeights, false)); err != nil {
		return err
	}
	for i, c := range columns {
		if names[i] == t.Weight && (len(c.distinct) > 1 || c.fractions > 0) {
			f.Guesses = append(f.Guesses,
				fmt.Sprintf("weight: column %s has weights other than 1, which are refused unless drop_weights is true", c.name))
		}
	}
	return nil
}

// guess finds a column that is not said by the names that it often has, whatever their case.
func (f *Found) guess(said *string, what string, names, usual []string, required bool) error {
	if *said != "" {
		return nil
	}
	for _, name := range usual {
		i := slices.IndexFunc(names, func(column string) bool { return strings.EqualFold(column, name) })
		if i < 0 {
			continue
		}
		if *said = names[i]; name != what {
			f.Guesses = append(f.Guesses, fmt.Sprintf("%s: %s is a guess by its name", what, names[i]))
		}
		return nil
	}
	if required {
		return fmt.Errorf("no column is named %s: say which one is the %s (--%s), among %s", strings.Join(usual, ", "), what,
			what, listed(names))
	}
	return nil
}
