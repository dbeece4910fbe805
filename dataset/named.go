package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rivulet/schema"
)

// readNamed reads tables whose features have names and types. The files are read twice, because the type of a column
// is known only after all of its values were seen.
func readNamed(name string, nodes, edges tableSource, o OpenOptions) (*Dataset, error) {
	n, err := surveyNodes(nodes, o.Tables)
	if err != nil {
		return nil, err
	}
	columns, unused, err := n.builders(o.Tables)
	if err != nil {
		return nil, err
	}
	t := NewTable(o.Tables)
	t.named, t.splits, t.faults = true, n.plan.split >= 0, o.Faults
	if err := nodes.each(func(f TableFile) error { return t.namedNodes(f, n, columns) }); err != nil {
		return nil, err
	}
	ends, err := surveyEnds(edges, o.Tables)
	if err != nil {
		return nil, err
	}
	if !n.columns[n.plan.id].numeric() { // then nothing is an id that was read as a float
		ends = nil
	}
	ignored, err := t.readEdges(edges, ends)
	if err != nil {
		return nil, err
	}
	d, err := t.Dataset(name, o)
	if err != nil {
		return nil, err
	}
	var used []string
	for _, c := range columns {
		d.Columns = append(d.Columns, c.column())
		used = append(used, c.describe())
	}
	d.note("Features by name: %s.", strings.Join(most(used), ", "))
	d.Dropped = slices.Clone(n.plan.ignored)
	d.noteIgnored("nodes", slices.Concat(n.plan.ignored, unused))
	d.noteIgnored("edges", ignored)
	return d, nil
}

// nodeSurvey is a table of nodes before its values are kept.
type nodeSurvey struct {
	plan    nodeColumns
	columns []*survey // of every column; those that are ignored have not been read
}

func surveyNodes(nodes tableSource, o Tables) (*nodeSurvey, error) {
	n := &nodeSurvey{}
	err := nodes.each(func(f TableFile) (err error) {
		if n.plan, err = o.planNodes(f.Columns(), false); err != nil {
			return err
		}
		used := slices.Concat([]int{n.plan.id, n.plan.label}, n.plan.features)
		if n.plan.split >= 0 {
			used = append(used, n.plan.split)
		}
		n.columns, err = surveyColumns(f, used, n.columns, o)
		return err
	})
	if err == nil && n.columns[n.plan.id].rows == 0 {
		err = fmt.Errorf("%s: there are no nodes", nodes.files[len(nodes.files)-1])
	}
	return n, err
}

// surveyColumns goes on with the surveys of columns of a file; nil begins them.
func surveyColumns(f TableFile, which []int, columns []*survey, o Tables) ([]*survey, error) {
	for i, name := range f.Columns() {
		if len(columns) <= i {
			columns = append(columns, &survey{name: name, categorical: f.Categorical(i)})
		}
	}
	return columns, f.Each(which, func(cells []Cell, at Place) error {
		for k, i := range which {
			columns[i].see(&cells[k], at, o.Decimal == ",")
		}
		return nil
	})
}

// surveyEnds looks at the ids in a table of edges.
func surveyEnds(edges tableSource, o Tables) (ends []*survey, err error) {
	ends = []*survey{{}, {}}
	return ends, edges.each(func(f TableFile) error {
		plan, err := o.planEdges(f.Columns())
		if err != nil {
			return err
		}
		return f.Each([]int{plan.source, plan.target}, func(cells []Cell, at Place) error {
			ends[0].see(&cells[0], at, false)
			ends[1].see(&cells[1], at, false)
			return nil
		})
	})
}

// builders returns what collects each feature, and the names of columns without any value.
func (n *nodeSurvey) builders(o Tables) (columns []*columnBuilder, unused []string, err error) {
	for _, i := range n.plan.features {
		s := n.columns[i]
		b := &columnBuilder{survey: s, commas: o.Decimal == ",", texts: map[string]string{}}
		b.Name, b.Categorical = s.name, s.categorical
		if said, ok := o.Types[s.name]; ok {
			b.Type, b.Categorical = columnTypes[said], said == "category"
		} else if b.Type, err = s.columnType(); errors.Is(err, errNoValues) {
			unused = append(unused, s.name)
			n.plan.features = slices.DeleteFunc(slices.Clone(n.plan.features), func(c int) bool { return c == i })
			continue
		} else if err != nil {
			return nil, nil, err
		}
		columns = append(columns, b)
	}
	if len(columns) == 0 {
		return nil, nil, errors.New("no column of the nodes that could be a feature has a value")
	}
	return columns, unused, nil
}

// namedNodes adds the nodes of a file.
func (t *Table) namedNodes(f TableFile, n *nodeSurvey, columns []*columnBuilder) error {
	fixed := []int{n.plan.id, n.plan.label}
	if n.plan.split >= 0 {
		fixed = append(fixed, n.plan.split)
	}
	var read []func(*Cell) (string, error)
	for _, i := range fixed {
		read = append(read, n.columns[i].names())
	}
	return f.Each(slices.Concat(fixed, n.plan.features), func(cells []Cell, at Place) (err error) {
		var row [3]string
		for k := range fixed {
			if row[k], err = read[k](&cells[k]); err != nil {
				return fmt.Errorf("column %s: %w", n.columns[fixed[k]].name, err)
			}
		}
		if err := t.AddNode(NodeRow{ID: row[0], Label: row[1], Split: strings.TrimSpace(row[2])}, at); err != nil {
			return t.faults.take(err, at)
		}
		for k, b := range columns {
			if err := b.add(&cells[len(fixed)+k], at); err != nil {
				return fmt.Errorf("column %s: %w", b.Name, err)
			}
		}
		return nil
	})
}

// readEdges adds the edges of all files, and returns the names of columns that were ignored. ends say how ids
// are read; nil: as they are written.
func (t *Table) readEdges(edges tableSource, ends []*survey) (ignored []string, err error) {
	source, target := readID, readID
	if ends != nil {
		source, target = ends[0].names(), ends[1].names()
	}
	err = edges.each(func(f TableFile) error {
		plan, err := t.o.planEdges(f.Columns())
		if err != nil {
			return err
		}
		ignored = plan.ignored
		columns := []int{plan.source, plan.target}
		if plan.weight >= 0 {
			columns = append(columns, plan.weight)
		}
		names := f.Columns()
		return f.Each(columns, func(cells []Cell, at Place) error {
			i, err := source(&cells[0])
			if err != nil {
				return fmt.Errorf("column %s: %w", names[plan.source], err)
			}
			j, err := target(&cells[1])
			if err != nil {
				return fmt.Errorf("column %s: %w", names[plan.target], err)
			}
			if len(cells) > 2 {
				if err := t.weight(&cells[2]); err != nil {
					err = fault{weighted, fmt.Errorf("column %s: %w", names[plan.weight], err)}
					if err := t.faults.take(err, at); err != nil {
						return err
					}
				}
			}
			return t.faults.take(t.AddEdge(i, j), at)
		})
	})
	return ignored, err
}

func readID(c *Cell) (string, error) { return asWritten(c, false) }

// weight refuses a weight other than 1, unless weights are dropped.
func (t *Table) weight(c *Cell) error {
	w, err := c.number(t.o.Decimal == ",")
	switch {
	case err == nil && w == 1:
		return nil
	case t.o.DropWeights:
		t.weights++
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("it is %v, want 1: weighted graphs are not supported; --drop-weights (drop_weights: true) reads each as 1",
		w)
}

// columnBuilder collects a feature's values.
type columnBuilder struct {
	schema.Column
	survey  *survey
	commas  bool
	rows    int
	absent  int
	texts   map[string]string // one copy of each
	first   Place             // of a vector's length
	width   int
	integer func(*Cell) (string, error) // reads categories
}

func (b *columnBuilder) add(c *Cell, at Place) (err error) {
	if b.integer == nil {
		b.integer = b.survey.names()
	}
	missing := c.missing(b.Type)
	if missing && b.Missing == nil {
		b.Missing = make([]bool, b.rows)
	}
	if b.Missing != nil {
		b.Missing = append(b.Missing, missing)
	}
	b.rows++
	if missing {
		b.absent++
		c = &Cell{}
	}
	switch b.Type {
	case schema.Number:
		var v float64
		if !missing {
			v, err = c.number(b.commas)
		}
		b.Numbers = append(b.Numbers, v)
	case schema.Bool:
		var v bool
		if !missing {
			v, err = c.bool()
		}
		b.Bools = append(b.Bools, v)
	case schema.Text:
		err = b.addText(c, missing)
	case schema.Vector:
		err = b.addVector(c, at, missing)
	case schema.Time:
		v := c.Time
		if !missing {
			v, err = c.time()
		}
		b.Times = append(b.Times, v)
	}
	return err
}

func (b *columnBuilder) addText(c *Cell, missing bool) (err error) {
	text := ""
	if !missing {
		if text, err = b.integer(c); err != nil {
			return err
		}
	}
	kept, known := b.texts[text]
	if !known {
		kept = strings.Clone(text)
		b.texts[kept] = kept
	}
	b.Texts = append(b.Texts, kept)
	return nil
}

func (b *columnBuilder) addVector(c *Cell, at Place, missing bool) error {
	if missing {
		b.Vectors = append(b.Vectors, nil)
		return nil
	}
	x, err := c.appendList(nil)
	if err != nil {
		return err
	}
	if b.width == 0 {
		b.width, b.first = len(x), at
	}
	if len(x) != b.width || len(x) == 0 {
		return fmt.Errorf("%d values, want %d as in %s", len(x), b.width, b.first)
	}
	b.Vectors = append(b.Vectors, x)
	return nil
}

func (b *columnBuilder) column() schema.Column { return b.Column }

// describe returns the column's name and type as text, for the note of the columns that are used.
func (b *columnBuilder) describe() string {
	what := b.Type.String()
	switch {
	case b.Categorical:
		what = "category"
	case b.Type == schema.Text:
		what = "text"
	case b.Type == schema.Vector:
		what = fmt.Sprintf("list of %d", b.width)
	case b.Type == schema.Time && b.survey.kinds[Raw] > 0 && b.survey.zones < b.survey.kinds[Raw]:
		what = "time, UTC where no zone is given"
	}
	if b.absent > 0 {
		what += fmt.Sprintf(", %d missing", b.absent)
	}
	return fmt.Sprintf("%s (%s)", b.Name, what)
}

// most returns the first names of a list; if it leaves some out, its last element says how many.
func most(names []string) []string {
	const shown = 64
	if len(names) <= shown {
		return names
	}
	return append(slices.Clone(names[:shown]), fmt.Sprintf("and %d more", len(names)-shown))
}
