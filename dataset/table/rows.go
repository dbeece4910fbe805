package table

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rivulet/dataset/numpy"
	"rivulet/infer/target"
)

// Node is a row of a table of nodes.
type Node struct {
	Row      int64 // from 1, over all files
	At       Place
	ID       string
	Label    string  // empty: none; several with [target.Mark] between
	Split    string  // train, val, test, unlabelled, or empty: no role
	Time     float64 // when it came, if the settings name a column of times
	Features []float32
}

// Edge is a row of a table of edges.
type Edge struct {
	Row            int64 // from 1, over all files
	At             Place
	Source, Target string
	Weight         float32
	Type           string // empty: the settings name no column of types
}

// NodeReader reads rows of a table of nodes.
type NodeReader struct {
	settings Settings
	truth    target.Truth // form of the labels
	names    []string     // of columns
	plan     nodeColumns
	text     []func(*Cell) (string, error) // how id, label and split are read
	named    bool                          // features have names: a node without label and split is unlabelled
	spans    []numpy.Span                  // of features; nil: not wanted
}

func newNodeReader(s Settings, names []string, positional bool) (*NodeReader, error) {
	plan, err := s.planNodes(names, positional)
	r := &NodeReader{settings: s, truth: s.Truth(), names: slices.Clone(names), plan: plan, named: !positional}
	for k := range r.plan.head() {
		r.text = append(r.text, func(c *Cell) (string, error) { return asWritten(c, k > 0) })
	}
	return r, err
}

// label reads the k-th cell of the head, which is a label; of a task of labels it may be a list.
func (r *NodeReader) label(k int, c *Cell) (string, error) {
	if r.truth == target.LabelSet {
		if text, ok, err := c.labels(); ok {
			return text, err
		}
	}
	if r.truth != target.NumberEach {
		return r.text[k](c)
	}
	if c.Kind == Float { // a value, not a name
		if math.IsNaN(c.Float) {
			return "", nil
		}
		return strconv.FormatFloat(c.Float, 'g', -1, 64), nil
	}
	return asWritten(c, true) // 1.36e+18 has not lost digits as an id has
}

// readHead is Read without features.
func (r *NodeReader) readHead(cells []Cell, n *Node) (err error) {
	var text [2 + roleMasks]string
	head := r.plan.head()
	further := make([]string, 0, len(r.plan.more))
	for k, i := range head {
		switch {
		case i == r.plan.time:
			n.Time, err = cells[k].when()
		case k >= len(head)-len(r.plan.more):
			var label string
			if label, err = r.label(k, &cells[k]); err == nil && (label == "") != (text[1] == "") {
				err = errors.New("it is empty, or another label of the node is: want all or none")
			}
			further = append(further, label)
		case k == 1:
			text[k], err = r.label(k, &cells[k])
		default:
			text[k], err = r.text[k](&cells[k])
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", r.names[i], err)
		}
	}
	if text[1] != "" && len(further) > 0 {
		text[1] = strings.Join(append([]string{text[1]}, further...), target.Mark)
	}
	if n.ID, n.Label = text[0], text[1]; n.ID == "" {
		return Fault{Unnamed, fmt.Errorf("column %s: it is empty", r.names[r.plan.id])}
	}
	switch {
	case r.plan.masks != nil:
		n.Split, err = r.masked(cells[2:])
	case len(r.plan.split) > 0:
		n.Split = strings.TrimSpace(text[2])
	default:
		n.Split = ""
	}
	if err == nil {
		n.Split, err = r.role(n.Label, n.Split)
	}
	return err
}

// masked returns the role of a node by its masks: the name of the one that is true, unlabelled if none is.
func (r *NodeReader) masked(cells []Cell) (string, error) {
	role, first := "", ""
	for k, i := range r.plan.split {
		is, err := false, error(nil)
		if !cells[k].missing() {
			is, err = cells[k].bool()
		}
		switch {
		case err != nil:
			return "", Fault{Splitless, fmt.Errorf("column %s: %w", r.names[i], err)}
		case is && role != "":
			return "", Fault{Splitless, fmt.Errorf("column %s: it is true, and the node is in %s by column %s: "+
				"want one role for each node", r.names[i], role, first)}
		case is:
			role, first = r.plan.masks[k], r.names[i]
		}
	}
	return cmp.Or(role, "unlabelled"), nil
}

// features appends the numbers of the cells of features.
func (r *NodeReader) features(x []float32, cells []Cell) ([]float32, error) {
	if r.plan.list >= 0 {
		list, err := cells[0].list()
		if err != nil {
			return nil, fmt.Errorf("column features: %w", err)
		}
		for k, v := range list {
			if k < len(r.spans) {
				r.spans[k].See(v)
			}
			x = append(x, float32(v))
		}
		return x, nil
	}
	for k, c := range r.plan.features {
		v, err := cells[k].number(r.settings.Decimal == ",")
		if err != nil {
			return nil, fmt.Errorf("column %s: %w; %w", r.names[c], err, ErrNoNumber)
		}
		if r.spans != nil {
			r.spans[k].See(v)
		}
		x = append(x, float32(v))
	}
	return x, nil
}

// EdgeReader reads rows of a table of edges.
type EdgeReader struct {
	settings Settings
	names    []string // of columns
	plan     edgeColumns
	id       func(*Cell) (string, error)
	dropped  int // weights other than 1 that were read as 1
}

// NewEdgeReader returns the reader of a table that has columns of these names, and perhaps more. An error names the
// column that is missing.
func NewEdgeReader(s Settings, names []string) (*EdgeReader, error) {
	plan, err := s.planEdges(names)
	return &EdgeReader{settings: s, names: slices.Clone(names), plan: plan,
		id: func(c *Cell) (string, error) { return asWritten(c, false) }}, err
}

// Columns are the indexes of the columns that [EdgeReader.Read] takes, in its order.
func (r *EdgeReader) Columns() []int {
	columns := []int{r.plan.source, r.plan.target}
	if r.plan.weight >= 0 {
		columns = append(columns, r.plan.weight)
	}
	if r.plan.kind >= 0 {
		columns = append(columns, r.plan.kind)
	}
	return columns
}

// Read returns the ends of an edge, given the cells of a row of the columns [EdgeReader.Columns]. Errors name the
// column; the ends are also there if the weight is a [Fault].
func (r *EdgeReader) Read(cells []Cell) (source, target string, weight float32, err error) {
	if source, err = r.id(&cells[0]); err != nil {
		return "", "", 1, fmt.Errorf("column %s: %w", r.names[r.plan.source], err)
	}
	if target, err = r.id(&cells[1]); err != nil {
		return "", "", 1, fmt.Errorf("column %s: %w", r.names[r.plan.target], err)
	}
	for k, end := range []string{source, target} {
		if end == "" && !(r.settings.DropUnknown && strings.TrimSpace(cells[k].Text) != "") { // \N is no id, either
			return "", "", 1, Fault{Dangling, fmt.Errorf("column %s: it is empty, want the id of a node",
				r.names[r.Columns()[k]])}
		}
	}
	weight = 1
	if r.plan.weight >= 0 {
		if weight, err = r.weight(&cells[2]); err != nil {
			return source, target, 1, Fault{Weighted, fmt.Errorf("column %s: %w", r.names[r.plan.weight], err)}
		}
	}
	return source, target, weight, nil
}

// Type returns the type of an edge, given the cells that Read takes; empty if the settings name no column of types.
func (r *EdgeReader) Type(cells []Cell) (string, error) {
	if r.plan.kind < 0 {
		return "", nil
	}
	kind, err := asWritten(&cells[len(cells)-1], false)
	if err == nil && (kind == "" || !utf8.ValidString(kind)) {
		err = fmt.Errorf("the type is %.100q, want text", kind)
	}
	if err != nil {
		return "", Fault{Untyped, fmt.Errorf("column %s: %w", r.names[r.plan.kind], err)}
	}
	return kind, nil
}

// weight returns a weight, or 1 if weights are dropped.
func (r *EdgeReader) weight(c *Cell) (float32, error) {
	const drop = "--drop-weights (drop_weights: true) reads each as 1"
	w, err := c.number(r.settings.Decimal == ",")
	switch {
	case err == nil && w == 1:
		return 1, nil
	case r.settings.DropWeights:
		r.dropped++
		return 1, nil
	case err != nil:
		return 1, fmt.Errorf("%w; %s", err, drop)
	}
	if err := CheckWeight(w); err != nil {
		return 1, fmt.Errorf("%w; %s", err, drop)
	}
	return float32(w), nil
}

// CheckWeight returns an error for a weight that no edge can have.
func CheckWeight(w float64) error {
	if narrow := float32(w); !(narrow > 0) || math.IsInf(float64(narrow), 0) {
		return fmt.Errorf("the weight is %v, want a finite number above 0", w)
	}
	return nil
}
