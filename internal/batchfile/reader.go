package batchfile

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"rivulet/dataset/csv"
	"rivulet/dataset/parquet"
	"rivulet/dataset/table"
	"rivulet/schema"
)

// Each gives the rows of a CSV or Parquet file of arrivals as JSON records of Rivulet's own form. The columns id,
// edges, weights, incoming, types and time are these fields; a list is a cell of numbers, JSON text, or ids with
// spaces, commas, semicolons or bars between them. A column features has the features as a list; else all other columns
// are the features: by their names where the model has a schema, or by their positions, in their order.
func Each(path string, s *schema.Schema, use func(row int, record []byte) error) error {
	source, err := table.Named(path, []table.Kind{csv.Kind, *parquet.Format.Tables}, table.TextForm{})
	if err != nil {
		return err
	}
	return source.Each(func(f table.File) error {
		names := f.Columns()
		if !slices.Contains(names, "id") {
			return fmt.Errorf("no column id among %s", strings.Join(names, ", "))
		}
		r := newReader(names, s)
		all := make([]int, len(names))
		for i := range all {
			all[i] = i
		}
		return f.Each(all, func(cells []table.Cell, at table.Place) error {
			record, err := r.record(cells)
			if err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
			return use(at.Row, record)
		})
	})
}

// reader makes records of rows.
type reader struct {
	names  []string
	listed bool            // features are in one column
	texts  map[string]bool // features whose values are text, whatever they look like
	named  bool
	types  bool // the column types is the edges' types, and no feature of the schema
}

// fields are the columns of an arrival beside its features.
var fields = map[string]bool{"id": true, "edges": true, "weights": true, "incoming": true, "time": true,
	"features": true}

func newReader(names []string, s *schema.Schema) *reader {
	r := &reader{names: names, listed: slices.Contains(names, "features"), named: s != nil, types: true,
		texts: map[string]bool{}}
	if s != nil {
		for _, f := range s.Features() {
			r.types = r.types && f.Name != "types"
			r.texts[f.Name] = f.Kind == schema.KindCategory || f.Kind == schema.KindText
		}
	}
	return r
}

// record makes the record of a row. Its values are checked like those of every record.
func (r *reader) record(cells []table.Cell) ([]byte, error) {
	record, named, positional := map[string]any{}, map[string]any{}, []any{}
	for i, name := range r.names {
		c := &cells[i]
		switch {
		case name == "edges" || name == "incoming" || name == "types" && r.types:
			record[name] = list(c, true)
		case name == "weights" || name == "features":
			record[name] = list(c, false)
		case name == "id":
			record[name] = text(c)
		case fields[name]:
			record[name] = value(c, true)
		case r.named:
			named[name] = value(c, r.texts[name])
		default:
			positional = append(positional, value(c, false))
		}
		if record[name] == nil {
			delete(record, name)
		}
	}
	switch {
	case r.listed:
	case r.named:
		record["features"] = map[string]any{"named": named}
	default:
		record["features"] = positional
	}
	return json.Marshal(record)
}

// text returns a cell as text; nil: it has none.
func text(c *table.Cell) any {
	switch c.Kind {
	case table.Raw, table.Text:
		if c.Text == "" {
			return nil
		}
		return c.Text
	case table.Int:
		return strconv.FormatInt(c.Int, 10)
	case table.Float:
		return strconv.FormatFloat(c.Float, 'f', -1, 64)
	case table.Bool:
		return strconv.FormatBool(c.Int != 0)
	case table.Time:
		return c.Time.UTC().Format(time.RFC3339Nano)
	}
	return nil
}

// value returns a cell as a value of JSON, and nil for a cell without one. Where asText is not set, texts that look
// like numbers, lists, true or false become these.
func value(c *table.Cell, asText bool) any {
	switch {
	case c.Kind == table.List:
		return c.List
	case c.Kind == table.Float && math.IsNaN(c.Float):
		return nil
	case asText:
		return text(c)
	}
	switch c.Kind {
	case table.Int:
		return c.Int
	case table.Float:
		return c.Float
	case table.Bool:
		return c.Int != 0
	case table.Raw:
		plain := strings.TrimSpace(c.Text)
		if n, err := strconv.ParseFloat(plain, 64); err == nil {
			if math.IsNaN(n) {
				return nil
			}
			return n
		}
		if b, err := strconv.ParseBool(strings.ToLower(plain)); err == nil {
			return b
		}
		if strings.HasPrefix(plain, "[") && json.Valid([]byte(plain)) {
			return json.RawMessage(plain)
		}
	}
	return text(c)
}

// list returns a cell as a list of ids or numbers; nil: it has none.
func list(c *table.Cell, ids bool) any {
	if c.Kind == table.List {
		out := make([]any, len(c.List))
		for i, x := range c.List {
			if out[i] = x; ids {
				out[i] = strconv.FormatFloat(x, 'f', -1, 64)
			}
		}
		return out
	}
	plain, _ := text(c).(string)
	if plain = strings.TrimSpace(plain); strings.HasPrefix(plain, "[") && json.Valid([]byte(plain)) {
		return json.RawMessage(plain)
	}
	out := []any{}
	for _, word := range strings.FieldsFunc(plain, func(r rune) bool { return strings.ContainsRune(" \t,;|", r) }) {
		if n, err := strconv.ParseFloat(word, 64); !ids && err == nil {
			out = append(out, n)
		} else {
			out = append(out, word)
		}
	}
	return out
}
