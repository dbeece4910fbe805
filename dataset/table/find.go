package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rivulet/infer/target"
	"rivulet/schema"
)

// Found is the result of [Find]: settings, and a line for people on each column.
type Found struct {
	Settings Settings
	Columns  []string
	// Guesses describe guesses that a person should check.
	Guesses []string
}

// ErrNoTable means that a directory has no table under a name that [Find] looks for.
var ErrNoTable = errors.New("no table")

// Find looks for the tables of a directory, unless s names them, and for the meaning of their columns.
func Find(dir string, s Settings, kinds []Kind) (*Found, error) {
	f := &Found{Settings: s}
	nodes, err := f.source(dir, "nodes", (*string)(&f.Settings.Nodes), usualNodes, kinds)
	if err != nil {
		return nil, err
	}
	edges, err := f.source(dir, "edges", &f.Settings.Edges, usualEdges, kinds)
	if err != nil {
		return nil, err
	}
	if err := f.nodes(nodes); err != nil {
		return nil, err
	}
	return f, f.edges(edges)
}

// FindEdges is [Find] of the table of edges alone.
func FindEdges(dir string, s Settings, kinds []Kind) (*Found, error) {
	f := &Found{Settings: s}
	edges, err := f.source(dir, "edges", &f.Settings.Edges, usualEdges, kinds)
	if err != nil {
		return nil, err
	}
	return f, f.edges(edges)
}

// source finds the files of a table by its path, or by a usual name if the path is empty.
func (f *Found) source(dir, what string, path *string, usual []string, kinds []Kind) (Source, error) {
	if *path == "" {
		var err error
		if *path, err = find1(dir, usual, kinds); errors.Is(err, ErrNoTable) {
			if *path = single(dir, what == "edges", kinds); *path != "" {
				f.Guesses = append(f.Guesses, fmt.Sprintf("%s: the table %s is a guess by its name", what, filepath.Base(*path)))
				err = nil
			}
		}
		if err != nil {
			return Source{}, fmt.Errorf("%w: name the table of %s (--%s)", err, what, what)
		}
	}
	if what == "nodes" && f.Settings.NodeTables() != nil {
		return f.typedNodes(kinds)
	}
	return Named(*path, kinds, f.Settings.TextForm)
}

// typedNodes finds the column of the ids, which the tables of all types of nodes have, and the tables as one.
func (f *Found) typedNodes(kinds []Kind) (Source, error) {
	if err := f.Settings.checkNodeTables(); err != nil {
		return Source{}, err
	}
	var common []string
	for k, of := range f.Settings.NodeTables() {
		s, err := Named(of.Path, kinds, f.Settings.TextForm)
		if err != nil {
			return s, err
		}
		names, _, err := s.Columns()
		if err != nil {
			return s, err
		}
		if k == 0 {
			common = names
		}
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(names, name) })
	}
	if err := f.guess(&f.Settings.ID, "id", common, usualIDs, true); err != nil {
		return Source{}, fmt.Errorf("the tables of nodes have one column of ids: %w, which all of them have", err)
	}
	return TypedNodes(f.Settings, kinds)
}

// find1 returns the path of the table of a directory that has one of the usual names.
func find1(dir string, usual []string, kinds []Kind) (string, error) {
	for _, name := range usual {
		for _, kind := range kinds {
			s, err := kind.Conventional(dir, name, TextForm{})
			switch {
			case err != nil && len(s.Files) > 0: // two of one name
				return "", err
			case err != nil:
				continue
			}
			first, _, _ := strings.Cut(filepath.ToSlash(s.Files[0]), "/")
			return filepath.Join(dir, first), nil
		}
	}
	if _, err := os.Stat(dir); err != nil {
		return "", err
	}
	return "", fmt.Errorf("%w in %s is named %s", ErrNoTable, dir, strings.Join(usual, ", "))
}

// single returns the path of a directory's only table of edges by its name, such as musae_edges.csv, or of its only
// other table; "" if there is none or there are several.
func single(dir string, edges bool, kinds []Kind) (found string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, entry := range entries {
		name := strings.ToLower(entry.Name())
		isEdges := !strings.Contains(name, "node") &&
			slices.ContainsFunc(usualEdges, func(usual string) bool { return strings.Contains(name, usual) })
		isTable := slices.ContainsFunc(
			kinds,
			func(k Kind) bool { return hasExt(name, k.Exts) || edges && hasExt(name, k.Named) },
		)
		if !isTable || isEdges != edges {
			continue
		}
		if found != "" {
			return ""
		}
		found = filepath.Join(dir, entry.Name())
	}
	return found
}

// survey reads all columns of a table.
func (f *Found) survey(s Source) (columns []*survey, names []string, err error) {
	err = s.Each(func(t File) error {
		names = slices.Clone(t.Columns())
		if guess := t.Guess(); guess != "" {
			f.Guesses = append(f.Guesses, guess)
		}
		var all []int
		of, typed := t.(*typeFile)
		for i, name := range names {
			if !slices.Contains(f.Settings.Drop, name) && (!typed || of.has(i)) {
				all = append(all, i)
			}
			if len(columns) <= i {
				columns = append(columns, &survey{name: name, categorical: t.Categorical(i)})
			}
		}
		return t.Each(all, func(cells []Cell, at Place) error {
			for k, i := range all {
				columns[i].see(&cells[k], at, f.Settings.Decimal == ",")
			}
			return nil
		})
	})
	return columns, names, err
}

func (f *Found) nodes(s Source) error {
	columns, names, err := f.survey(s)
	if err != nil {
		return err
	}
	t := &f.Settings
	if slices.Contains(names, "") {
		return fmt.Errorf(`%s: column "" is the row number that pandas writes: write the table with index=False; `+
			`if the index holds the ids, name it: df.rename_axis("id").reset_index()`, strings.Join(s.Files, ", "))
	}
	if err := f.guess(&t.ID, "id", names, usualIDs, true); err != nil {
		return err
	}
	if err := f.guessLabel(names, columns); err != nil {
		return err
	}
	if err := f.guessSplit(names, columns); err != nil {
		return err
	}
	f.commas(columns)
	for i, c := range columns {
		used := ""
		switch name := names[i]; {
		case name == t.ID || name == t.Label || slices.Contains(strings.Split(t.Split, ","), name):
			used = "used"
		default:
			f.guessUse(c)
		}
		f.Columns = append(f.Columns, f.describe(c, used))
	}
	return nil
}

// guessUse guesses which columns are no features, and the types that their names say.
func (f *Found) guessUse(c *survey) {
	t := &f.Settings
	if slices.Contains(t.Drop, c.name) || t.Types[c.name] != "" {
		return
	}
	_, kind := typedName(c.name)
	switch {
	case isIndex(c.name):
		f.drop(c.name, "the row number that pandas writes")
	case slices.Contains(displayNames, strings.ToLower(c.name)) && c.single():
		f.drop(c.name, "a display name, with a value of its own for nearly every node")
	case kind == "ignore":
		f.drop(c.name, "its header says so")
	case kind != "" && columnTypes[kind] != schema.Missing && c.kinds[Raw] > 0:
		if of, err := c.columnType(); err == nil && of != columnTypes[kind] && kind == "text" {
			f.say("types", c.name, kind)
		}
	}
}

func (f *Found) drop(name, why string) {
	f.Settings.Drop = append(f.Settings.Drop, name)
	f.Guesses = append(f.Guesses, fmt.Sprintf("drop %s: %s", name, why))
}

// say sets the type of a column that its header names.
func (f *Found) say(what, name, kind string) {
	if f.Settings.Types == nil {
		f.Settings.Types = map[string]string{}
	}
	f.Settings.Types[name] = kind
	f.Guesses = append(f.Guesses, fmt.Sprintf("%s: %s is %s by its header", what, name, kind))
}

// guessLabel finds the column of classes: the first with a usual name that does not have a value of its own for nearly
// every node, as display names and ids have.
func (f *Found) guessLabel(names []string, columns []*survey) error {
	if f.Settings.Label != "" || f.Settings.Task == target.Links.String() {
		return nil
	}
	usable, names := slices.Clone(names), slices.Clone(names)
	var refused []string
	for i, c := range columns {
		if names[i] == f.Settings.ID || slices.Contains(f.Settings.Drop, names[i]) {
			usable[i] = "\x00"
		} else if why := c.noClasses(); why != "" { // also a type of nodes that all have
			usable[i] = "\x00"
			if matchAny(names[i], usualLabels) {
				refused = append(refused, fmt.Sprintf("column %s %s", names[i], why))
			}
		}
	}
	err := f.guess(&f.Settings.Label, "label", usable, usualLabels, true)
	switch {
	case err != nil && refused != nil:
		return fmt.Errorf(
			"%s, so it is no class: say which column is the class (--label), among %s",
			strings.Join(refused, "; "),
			listed(names),
		)
	case err != nil: // with all names
		return f.guess(&f.Settings.Label, "label", names, usualLabels, true)
	case refused != nil:
		f.Guesses = append(f.Guesses, fmt.Sprintf("label: %s, for %s", f.Settings.Label, strings.Join(refused, "; ")))
	}
	return nil
}

// guessSplit finds the column of roles, or the masks that say them.
func (f *Found) guessSplit(names []string, columns []*survey) error {
	t := &f.Settings
	if t.Split == "" && !slices.Contains(names, "split") {
		var c nodeColumns
		c.id, c.label = slices.Index(names, t.ID), slices.Index(names, t.Label)
		if _, err := c.planSplit(*t, names); err != nil {
			f.Guesses = append(f.Guesses, "split: "+err.Error())
		}
		if c.masks != nil {
			var masks []string
			for _, i := range c.split {
				masks = append(masks, names[i])
			}
			t.Split = strings.Join(masks, ",")
			f.Guesses = append(
				f.Guesses,
				fmt.Sprintf("split: the masks %s are a guess by their names; nodes in none of them are unlabelled", t.Split),
			)
			return nil
		}
	}
	if err := f.guess(&t.Split, "split", names, usualSplits, false); err != nil {
		return err
	}
	if i := slices.Index(names, t.Split); i >= 0 {
		f.roles(columns[i])
	}
	return nil
}

// commas says that commas divide fractions if a column has nothing but such numbers.
func (f *Found) commas(columns []*survey) {
	for _, c := range columns {
		if n := c.forms[asCommas]; f.Settings.Decimal == "" && n > 0 && n+c.forms[asNumber] == c.kinds[Raw] {
			f.Settings.Decimal = ","
			f.Guesses = append(f.Guesses,
				fmt.Sprintf("decimal \",\": column %s has numbers such as %s", c.name, c.first[asCommas].text))
		}
	}
}

// describe returns a line for people; used is empty for a feature.
func (f *Found) describe(c *survey, used string) string {
	what, missing := "", c.nulls
	switch kind, err := c.columnType(); {
	case slices.Contains(f.Settings.Drop, c.name):
		what = "dropped"
	case errors.Is(err, errNoValues):
		what = "no value: not used"
	case err != nil && !(f.Settings.Decimal == "," && c.forms[asCommas] > 0):
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
			what = "text"
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

// roles guesses the roles that the split's values stand for.
func (f *Found) roles(c *survey) {
	if f.Settings.SplitValues != nil {
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
	slices.SortFunc(unknown, Order(unknown))
	f.Settings.SplitValues = map[string]string{}
	var guesses []string
	for k, value := range unknown {
		role := "none"
		if k < 3 {
			role = []string{"train", "val", "test"}[k]
		}
		if c.integersAsFloats() {
			value = strings.TrimSuffix(value, ".0")
		}
		f.Settings.SplitValues[value] = role
		guesses = append(guesses, value+"="+role)
	}
	f.Guesses = append(f.Guesses,
		fmt.Sprintf("split_values: %s is a guess by the order of the values", strings.Join(guesses, ",")))
}

func (f *Found) edges(s Source) error {
	columns, names, err := f.survey(s)
	if err != nil {
		return err
	}
	t := &f.Settings
	if err := errors.Join(f.guess(&t.Source, "source", names, usualSources, true),
		f.guess(&t.Target, "target", names, usualTargets, true),
		f.guess(&t.Weight, "weight", names, usualWeights, false)); err != nil {
		return err
	}
	weights := false
	for i, c := range columns {
		if names[i] == t.Weight && (len(c.distinct) > 1 || c.fractions > 0) {
			weights = !t.DropWeights
			f.Guesses = append(f.Guesses,
				fmt.Sprintf("weight: column %s has weights of edges; drop_weights: true reads each as 1", c.name))
		}
	}
	f.guessTypes(names, columns, weights)
	return nil
}

// guessTypes finds the column that has the types of edges: two or more, but no more than are read, and none missing.
func (f *Found) guessTypes(names []string, columns []*survey, weights bool) {
	t := &f.Settings
	most := 32 // of a relation each, or two with directions
	if t.Directed {
		most /= 2
	}
	for i, c := range columns {
		n := len(c.distinct)
		if t.EdgeType != "" || n < 2 || n > most || c.nulls+c.fractions > 0 || !matchAny(names[i], usualTypes) ||
			slices.Contains([]string{t.Source, t.Target, t.Weight}, names[i]) {
			continue
		}
		if weights {
			f.Guesses = append(f.Guesses, fmt.Sprintf("edge_type: column %s may be %d types of edges, which are not read "+
				"beside weights: edge_type: %s and drop_weights: true read them instead", names[i], n, names[i]))
			return
		}
		t.EdgeType = names[i]
		f.Guesses = append(f.Guesses, fmt.Sprintf("edge_type: %s is a guess by its name and its %d values; models rsgc and "+
			"rgcn read types (--models rsgc), and without this line all edges are of one", names[i], n))
	}
}

// guess finds the column of a setting that is empty by the names that it often has, whatever their case.
func (f *Found) guess(said *string, what string, names, usual []string, required bool) error {
	if *said != "" {
		return nil
	}
	for _, name := range usual {
		i := slices.Index(names, name)
		if i < 0 {
			i = slices.IndexFunc(names, func(column string) bool { return matches(column, name) })
		}
		if i < 0 {
			continue
		}
		if *said = names[i]; names[i] != what {
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
