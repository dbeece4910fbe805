package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rivulet/dataset/numpy"
	"rivulet/infer/target"
	"rivulet/schema"
)

// Stream reads two tables row by row. A whole table is its rows, kept.
type Stream struct {
	Name     string
	Rows     int64 // nodes
	Features int   // per node; 0 if they have names
	// Suspects say in whole sentences what in the tables may be misread.
	Suspects []string
	// Faults, if set, collects the faults of rows, which are then no errors.
	Faults *Faults

	nodes, edges Source
	settings     Settings
	positional   bool
	plan         nodeColumns
	columns      []*survey // of nodes; unread ones have no rows
	features     []*Column // with names
	unused       []string  // columns without a value
	dropped      int       // weights that are not 1 and were read as 1
	endColumns   edgeColumns
	spans        []numpy.Span // of features by position
	guesses      []string     // about the forms of files
}

// ErrNoNumber says that a value is no number, so that the features of a table cannot have positions only.
var ErrNoNumber = errors.New("features by position are numbers")

// NewStream returns the tables to be read row by row, features by position or by name. It reads the table of nodes
// once, to count the rows and to see how the ids are written and, of features with names, which types they have.
func NewStream(name string, nodes, edges Source, s Settings, positional bool) (*Stream, error) {
	t := &Stream{Name: name, nodes: nodes, edges: edges, settings: s, positional: positional}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if positional && s.Features == "" {
		if err := nodes.Each(t.lookAtFirst); err != nil && !errors.Is(err, errSeen) {
			return nil, err
		}
	}
	err := nodes.Each(t.survey)
	if err == nil && t.Rows == 0 {
		err = fmt.Errorf("%s: there are no nodes", nodes.Files[len(nodes.Files)-1])
	}
	if err == nil && s.Truth() == target.OneClass {
		t.columns[t.plan.label].classes()
	}
	if err == nil && !positional {
		err = t.nameFeatures()
	}
	return t, err
}

// survey looks at all rows of a file of nodes: at ids, labels and roles, and at features with names.
func (s *Stream) survey(f File) (err error) {
	names := f.Columns()
	if s.plan, err = s.settings.planNodes(names, s.positional); err != nil {
		return err
	}
	s.noteGuess(f)
	which := s.plan.head()
	if !s.positional {
		for _, i := range s.plan.features {
			if !slices.Contains(which, i) {
				which = append(which, i)
			}
		}
	}
	for i := len(s.columns); i < len(names); i++ {
		s.columns = append(s.columns, &survey{name: names[i], categorical: f.Categorical(i)})
	}
	return f.Each(which, func(cells []Cell, at Place) error {
		s.Rows++
		for k, i := range which {
			s.columns[i].see(&cells[k], at, s.settings.Decimal == ",")
		}
		return nil
	})
}

func (s *Stream) noteGuess(f File) {
	if guess := f.Guess(); guess != "" && !slices.Contains(s.guesses, guess) {
		s.guesses = append(s.guesses, guess)
	}
}

// errSeen ends a reading after the first row.
var errSeen = errors.New("the first row is enough")

// lookAtFirst counts the features of the first node, and ends with errSeen.
func (s *Stream) lookAtFirst(f File) error {
	r, err := newNodeReader(s.settings, f.Columns(), true)
	if err != nil {
		return err
	}
	return f.Each(r.plan.values(), func(cells []Cell, _ Place) error {
		x, err := r.features(nil, cells)
		if s.Features = len(x); err == nil && s.Features == 0 {
			err = errors.New("the nodes have no features")
		}
		return cmp.Or(err, errSeen)
	})
}

// HasSplit reports whether the nodes have roles.
func (s *Stream) HasSplit() bool { return len(s.plan.split) > 0 }

// EachNode calls use with every row of nodes, whose features have positions. They are valid until the next row.
func (s *Stream) EachNode(use func(Node) error) error {
	s.spans = make([]numpy.Span, s.Features)
	return s.each(s.plan.values(), func(n *Node, r *NodeReader, cells []Cell) (err error) {
		r.spans = s.spans
		if n.Features, err = r.features(n.Features[:0], cells); err != nil {
			return err
		}
		return use(*n)
	})
}

// EachNamed calls use with every row of nodes, whose features have names, without the features. If use returns nil, the
// row's features are kept in [Stream.Columns].
func (s *Stream) EachNamed(use func(Node) error) error {
	return s.each(s.plan.features, func(n *Node, _ *NodeReader, cells []Cell) error {
		if err := use(*n); err != nil {
			return s.Faults.Take(err, n.At)
		}
		for k, c := range s.features {
			if err := c.add(&cells[k], n.At); err != nil {
				return fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
		return nil
	})
}

// each calls use with every row of nodes and its cells of some columns. The node has no features.
func (s *Stream) each(columns []int, use func(n *Node, r *NodeReader, cells []Cell) error) error {
	n := &Node{}
	return s.nodes.Each(func(f File) error {
		r, err := s.nodeReader(f)
		if err != nil {
			return err
		}
		head := len(r.text)
		return f.Each(slices.Concat(r.plan.head(), columns), func(cells []Cell, at Place) error {
			n.Row++
			n.At = at
			if err := r.readHead(cells[:head], n); err != nil {
				return s.Faults.Take(err, at)
			}
			return use(n, r, cells[head:])
		})
	})
}

// nodeReader reads ids, labels and roles as the survey found them to be written.
func (s *Stream) nodeReader(f File) (*NodeReader, error) {
	r, err := newNodeReader(s.settings, f.Columns(), s.positional)
	if err != nil {
		return nil, err
	}
	r.plan = s.plan
	r.text = nil
	for k, i := range s.plan.head() {
		r.text = append(r.text, s.columns[i].names(k > 0))
	}
	return r, nil
}

// EachEdge calls use with every row of edges.
func (s *Stream) EachEdge(use func(Edge) error) error {
	e := Edge{}
	s.dropped = 0
	return s.edges.Each(func(f File) error {
		r, err := NewEdgeReader(s.settings, f.Columns())
		if err != nil {
			return err
		}
		s.endColumns = r.plan
		s.noteGuess(f)
		r.id = s.idReader()
		defer func() { s.dropped += r.dropped }()
		return f.Each(r.Columns(), func(cells []Cell, at Place) (err error) {
			e.Row++
			e.At = at
			if e.Source, e.Target, e.Weight, err = r.Read(cells); err != nil {
				if err := s.Faults.Take(err, at); err != nil || e.Source == "" {
					return err
				}
			}
			if e.Type, err = r.Type(cells); err != nil {
				return s.Faults.Take(err, at)
			}
			return use(e)
		})
	})
}

// nameFeatures finds the types of features with names, and a split that no setting names.
func (s *Stream) nameFeatures() error {
	s.plan.foundRole(s.columns)
	kept := s.plan.features[:0:0]
	for _, i := range s.plan.features {
		c := &Column{survey: s.columns[i], commas: s.settings.Decimal == ",", texts: map[string]string{}}
		c.Name, c.Categorical = c.survey.name, c.survey.categorical
		var err error
		if s.nodes.types != nil && i == 0 {
			c.Type, c.Categorical = schema.Text, true
		} else if said, ok := s.settings.Types[c.Name]; ok {
			c.Type, c.Categorical = columnTypes[said], said == "category"
		} else if c.Type, err = c.survey.columnType(); errors.Is(err, errNoValues) {
			s.unused = append(s.unused, c.Name)
			continue
		} else if err != nil {
			return err
		}
		kept = append(kept, i)
		s.features = append(s.features, c)
	}
	if s.plan.features = kept; len(kept) == 0 {
		return errors.New("no column of the nodes that could be a feature has a value")
	}
	return nil
}

// CheckSpans returns an error for a feature whose values float32 cannot tell apart, after all nodes were read.
func (s *Stream) CheckSpans() error {
	check := func(column string, spans []numpy.Span) error {
		for k := range spans {
			name := column
			if len(spans) > 1 {
				name = fmt.Sprintf("%s[%d]", column, k)
			}
			if err := spans[k].Check(name, fmt.Sprintf("drop the column (--drop %s)", column)); err != nil {
				return err
			}
		}
		return nil
	}
	if s.positional && s.plan.list >= 0 {
		return check("features", s.spans)
	}
	for k := range s.spans {
		if err := check(s.columns[s.plan.features[k]].name, s.spans[k:k+1]); err != nil {
			return err
		}
	}
	for _, c := range s.features {
		if err := check(c.Name, c.spans); err != nil {
			return err
		}
	}
	return nil
}

// Columns returns the features with names, with the values that [Stream.EachNamed] kept.
func (s *Stream) Columns() []schema.Column {
	var columns []schema.Column
	for _, c := range s.features {
		columns = append(columns, c.Column)
	}
	return columns
}

// Notes say in whole sentences which columns are features and which are ignored, after all rows were read.
func (s *Stream) Notes() (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	var used []string
	for _, c := range s.features {
		used = append(used, c.describe(s.elsewhere(c.Name)))
	}
	if used != nil {
		note("Features by name: %s.", strings.Join(Most(used), ", "))
	}
	for _, i := range s.plan.features {
		if s.positional {
			used = append(used, s.columns[i].name)
		}
	}
	if s.positional && used != nil {
		note("Features by position: %s.", strings.Join(Most(used), ", "))
	}
	if said := s.columns[s.plan.label].absent(); said != "" {
		note("Labels: %s.", said)
	}
	if s.plan.guess != "" {
		note("%s", s.plan.guess)
	}
	for _, guess := range s.guesses {
		note("%s.", guess)
	}
	if ignored := slices.Concat(s.plan.ignored, s.unused); len(ignored) > 0 {
		note("Columns of nodes that were ignored: %s.", listed(ignored))
	}
	if len(s.endColumns.ignored) > 0 {
		note("Columns of edges that were ignored: %s.", listed(s.endColumns.ignored))
	}
	return notes
}

// Dropped returns the names of the columns of nodes that are no features, as a setting says.
func (s *Stream) Dropped() []string { return slices.Clone(s.plan.ignored) }

// DroppedWeights returns the number of edges whose weight is not 1 and was read as 1.
func (s *Stream) DroppedWeights() int { return s.dropped }

// Most returns the first names of a list; if it leaves some out, its last element says how many.
func Most(names []string) []string {
	const shown = 64
	if len(names) <= shown {
		return names
	}
	return append(slices.Clone(names[:shown]), fmt.Sprintf("and %d more", len(names)-shown))
}
