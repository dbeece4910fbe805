package table

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rivulet/infer/target"
	"rivulet/schema"
)

// meaning finds what the columns of the chosen tables mean.
func (f *Found) meaning() error {
	nodes, edges, err := f.Settings.Open(f.kinds)
	if err != nil {
		return err
	}
	if f.Settings.typed() {
		if err := f.Settings.checkNodeTables(); err != nil {
			return err
		}
	}
	if len(f.Questions) > 0 && pickAny(f.Questions, "--source", "--id") {
		return nil
	}
	if err := f.edges(edges); err != nil {
		return err
	}
	if err := f.nodes(nodes); err != nil {
		return err
	}
	return f.dangling(nodes, edges)
}

func pickAny(questions []Question, flags ...string) bool {
	return slices.ContainsFunc(questions, func(q Question) bool {
		return slices.ContainsFunc(flags, func(flag string) bool { return strings.Contains(q.Answer, flag) })
	})
}

// dangling asks about edges to ids that no node has.
func (f *Found) dangling(nodes, edges Source) error {
	t := &f.Settings
	if t.DropUnknown {
		return nil
	}
	known := map[string]bool{}
	err := nodes.Each(func(file File) error {
		id := slices.Index(file.Columns(), cmp.Or(t.ID, "id"))
		if id < 0 {
			return nil
		}
		return file.Each([]int{id}, func(cells []Cell, _ Place) error {
			text, err := cells[0].id()
			known[strings.Clone(text)] = true
			return err
		})
	})
	if err != nil {
		return err
	}
	all, unknown, first := 0, 0, ""
	err = edges.Each(func(file File) error {
		plan, err := t.planEdges(file.Columns())
		if err != nil {
			return err
		}
		return file.Each([]int{plan.source, plan.target}, func(cells []Cell, _ Place) error {
			all++
			for k := range cells {
				if id, err := cells[k].id(); err != nil || cells[k].missing() || !known[id] {
					if unknown++; first == "" {
						first = cells[k].String()
					}
					break
				}
			}
			return nil
		})
	})
	if unknown > 0 {
		f.ask("--drop-unknown leaves them out", "%d of %d edges have an end that is no node, such as %s", unknown, all, first)
	}
	return err
}

// survey reads all columns of a table.
func (f *Found) survey(s Source) (columns []*survey, names []string, err error) {
	err = s.Each(func(t File) error {
		names = slices.Clone(t.Columns())
		if err := distinctNames(names); err != nil {
			return err
		}
		if guess := t.Guess(); guess != "" {
			f.Guesses = append(f.Guesses, guess)
		}
		var all []int
		of, typed := t.(interface{ has(int) bool })
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
	if slices.Contains(names, "") && t.ID != "" {
		return fmt.Errorf(`%s: column "" is the row number that pandas writes: write the table with index=False; `+
			`if the index holds the ids, name it: df.rename_axis("id").reset_index()`, strings.Join(s.Files, ", "))
	}
	f.guessLabel(names, columns)
	if i := slices.Index(names, cmp.Or(t.Label, "label")); i >= 0 && t.HasLabels() {
		f.severalLabels(columns[i])
	}
	if err := f.guessSplit(names, columns); err != nil {
		return err
	}
	f.commas(columns)
	features := 0
	for i, c := range columns {
		used := ""
		switch name := names[i]; {
		case name == cmp.Or(t.ID, "id") || slices.Contains(t.Labels(), name) || name == t.Time ||
			slices.Contains(strings.Split(cmp.Or(t.Split, "split"), ","), name):
			used = "used"
		case i == 0 && name == NodeType && t.typed():
			used = "the type of the node"
		default:
			f.guessUse(c)
			f.settleType(c)
			if of, err := c.columnType(); !slices.Contains(t.Drop, name) && !errors.Is(err, errNoValues) &&
				of != schema.Missing {
				features++
			}
		}
		f.Columns = append(f.Columns, f.describe(c, used))
	}
	if features == 0 && t.Features == "" && !t.Degree {
		t.Degree = true
		f.guessed("degree: the nodes have no features, so the number of a node's neighbours is one; arrivals send it as " +
			"degree")
	}
	return nil
}

// guessLabel finds the column of classes: the first with a usual name that does not have a value of its own for nearly
// every node, as display names and ids have.
func (f *Found) guessLabel(names []string, columns []*survey) {
	t := &f.Settings
	if t.Label != "" || !t.HasLabels() || t.LabelTable != "" {
		return
	}
	usable := slices.Clone(names)
	var refused, classes, texts []string
	for i, c := range columns {
		if names[i] == cmp.Or(t.ID, "id") || slices.Contains(t.Drop, names[i]) || names[i] == NodeType {
			usable[i] = "\x00"
		} else if why := c.noClasses(); why != "" { // also a type of nodes that all have
			usable[i] = "\x00"
			if matchAny(names[i], usualLabels) {
				refused = append(refused, fmt.Sprintf("column %s %s", names[i], why))
			}
		} else if n := len(c.distinct); n > 1 && n <= 50 && c.fractions == 0 {
			line := fmt.Sprintf("%s (%d values, such as %s)", names[i], n, c.sample[0])
			if c.trend.n == 0 {
				texts = append(texts, names[i])
				classes = slices.Insert(classes, len(texts)-1, line)
				continue
			}
			classes = append(classes, line)
		}
	}
	if name := usualOf(usable, usualLabels); name != "" {
		if t.Label = name; name != "label" {
			f.guessed("label: %s is a guess by its name", name)
		}
		if refused != nil {
			f.guessed("label: %s, for %s", cmp.Or(t.Label, "label"), strings.Join(refused, "; "))
		}
		return
	}
	const idAndLabel = 2
	if len(names) == idAndLabel && len(classes) == 1 {
		for i, name := range names {
			if usable[i] != "\x00" && name != "label" {
				t.Label = name
				f.guessed("label: %s is a guess: the table of nodes has nothing else", name)
			}
		}
		return
	}
	if len(texts) == 1 && isNumber(texts[0]) {
		t.Label = texts[0]
		f.guessed("label: %s is a guess: all others are numbers", t.Label)
		return
	}
	text := fmt.Sprintf("no column is named %s: say which one is the label (--label), among %s",
		strings.Join(usualLabels[:6], ", "), listed(names))
	if refused != nil {
		text = fmt.Sprintf("%s, so it is no class: say which column is the class (--label), among %s",
			strings.Join(refused, "; "), listed(names))
	}
	if classes != nil {
		text += "; of few values are " + strings.Join(classes[:min(len(classes), 8)], ", ")
	}
	f.ask("--label COLUMN; or --task links, without labels", "%s", text)
}

// labelMarks are the marks between several labels in a cell.
var labelMarks = []string{"|", ";", ",", "::", "/", " & ", " + "}

// severalLabels asks about a mark that stands in most names of labels, or whose parts stand in several.
func (f *Found) severalLabels(c *survey) {
	t := &f.Settings
	if t.Truth() == target.NumberEach || c.forms[asNumber]+c.forms[asCommas]+c.forms[asTime] > 0 && t.Task == "" {
		return
	}
	if mark, with := SeveralLabels(slices.Collect(maps.Keys(c.distinct))); mark != "" {
		switch {
		case t.LabelMark != "" || t.Task != "" && t.Truth() == target.OneClass:
		case t.Truth() == target.LabelSet:
			if mark != target.Mark {
				t.LabelMark = mark
				f.guessed("label_mark: %q is a guess by %d of %d values, such as %s", mark, with, len(c.distinct),
					sampleWith(c, mark))
			}
		default:
			f.ask("--task labels reads several a node, --task classes each combination as a class of its own",
				"column %s: %q stands in %d of %d values, such as %s: are they several labels?", c.name, mark, with,
				len(c.distinct), sampleWith(c, mark))
		}
	}
}

// SeveralLabels returns the mark that stands between several labels in most of these values, or in so many that their
// parts are no more than the values; empty: each value is one label.
func SeveralLabels(values []string) (mark string, with int) {
	for _, mark := range labelMarks {
		with, parts := 0, map[string]bool{}
		for _, name := range values {
			split := strings.Split(withCommas(name), mark)
			if len(split) > 1 {
				with++
			}
			for _, part := range split {
				parts[strings.TrimSpace(part)] = true
			}
		}
		delete(parts, "")
		if with > 0 && (2*with >= len(values) || len(parts) < len(values)) {
			return mark, with
		}
	}
	return "", 0
}

// withCommas returns a list of NumPy, ['a' 'b'], with commas; other values are as they are.
func withCommas(name string) string {
	if strings.HasPrefix(name, "[") {
		return behindQuote.ReplaceAllString(name, "$1,$2")
	}
	return name
}

func sampleWith(c *survey, mark string) string {
	for _, name := range slices.Sorted(maps.Keys(c.distinct)) {
		if strings.Contains(withCommas(name), mark) {
			return strconv.Quote(name)
		}
	}
	return ""
}

func (f *Found) edges(s Source) error {
	columns, names, err := f.survey(s)
	if err != nil {
		return err
	}
	t := &f.Settings
	said := t.Weight != ""
	f.guess(&t.Weight, "weight", names, usualWeights)
	f.guessTypes(names, columns)
	var unused []string
	for i, c := range columns {
		why := c.noWeight()
		switch name := names[i]; {
		case name == cmp.Or(t.Source, "source") || name == cmp.Or(t.Target, "target"):
		case name == cmp.Or(t.Weight, "weight"):
			numbers := c.trend.n > 0
			if said && numbers || t.DropWeights || why == "" {
				if !t.DropWeights && (len(c.distinct) > 1 || c.fractions > 0) {
					f.guessed("weight: column %s has weights of edges, from %g to %g; drop_weights: true reads each as 1", name,
						c.trend.low, c.trend.high)
				}
				continue
			}
			answer := "--drop-weights leaves it out"
			if numbers {
				answer += ", --weight " + name + " takes it"
			}
			f.ask(answer, "%s: column %s %s: are these weights of edges?", filepath.Base(s.Files[0]), name, why)
		case name == t.EdgeType || c.rows == c.nulls:
		case strings.HasPrefix(why, "looks like times") || strings.Contains(why, "like a clock") || strings.HasPrefix(why,
			"counts"):
			unused = append(unused, name+" ("+why+")")
		case c.trend.n > 0 && c.trend.n == c.rows-c.nulls && why == "":
			unused = append(unused, name+" (--weight "+name+" takes its numbers as weights)")
		default:
			unused = append(unused, name)
		}
	}
	if unused != nil {
		f.guessed("columns of edges that are not used: %s", strings.Join(Most(unused), ", "))
	}
	return nil
}

// noWeight says why a column's values are hardly weights; empty: they may be.
func (s *survey) noWeight() string {
	if s.kinds[Time] > 0 || s.forms[asTime] > 0 {
		return "looks like times, such as " + s.sample[0]
	}
	if s.trend.n == 0 && s.rows > s.nulls && s.kinds[Int]+s.kinds[Float] == 0 {
		return "has no numbers"
	}
	return s.trend.NoWeight()
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

// settleType says the type of a column whose values have several: text where many are no numbers. A few may be slips.
func (f *Found) settleType(c *survey) {
	t := &f.Settings
	_, err := c.columnType()
	if slices.Contains(t.Drop, c.name) || t.Types[c.name] != "" || t.Features != "" || err == nil ||
		errors.Is(err, errNoValues) || t.Decimal == "," && c.forms[asCommas] > 0 {
		return
	}
	const slips = 20
	known, most := c.kinds[Raw], 0
	for _, n := range c.forms {
		most = max(most, n)
	}
	if known > 0 && slips*(known-most) >= known && c.broken == nil && c.forms[asDate] == 0 {
		if t.Types == nil {
			t.Types = map[string]string{}
		}
		t.Types[c.name] = "text"
		f.guessed("types: %s is text, as %d of its %d values have another form than the others", c.name, known-most, known)
		return
	}
	f.ask("--types "+c.name+"=text, or --drop "+c.name, "%v", err)
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
	f.guess(&t.Split, "split", names, usualSplits)
	if i := slices.Index(names, cmp.Or(t.Split, "split")); i >= 0 {
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

// guessTypes finds the column that has the types of edges: two or more, but no more than are read, and none missing.
func (f *Found) guessTypes(names []string, columns []*survey) {
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
		t.EdgeType = names[i]
		f.Guesses = append(f.Guesses, fmt.Sprintf("edge_type: %s is a guess by its name and its %d values; models rsgc and "+
			"rgcn read types (--models rsgc), and without this line all edges are of one", names[i], n))
	}
}

// guess finds the column of a setting that is empty by the names that it often has, whatever their case.
func (f *Found) guess(said *string, what string, names, usual []string) {
	if *said != "" {
		return
	}
	if *said = usualOf(names, usual); *said != "" && *said != what {
		f.guessed("%s: %s is a guess by its name", what, *said)
	}
}
