package graphsaint

import (
	"fmt"
	"time"

	"rivulet/schema"
)

// Column is a named column in columns.json: it has a value for each node, in the one list that its type has.
type Column struct {
	Name        string      `json:"name"`
	Type        string      `json:"type"`
	Categorical bool        `json:"categorical,omitempty"`
	Missing     []int32     `json:"missing,omitempty"` // nodes
	Numbers     []float64   `json:"numbers,omitempty"`
	Bools       []bool      `json:"bools,omitempty"`
	Texts       []string    `json:"texts,omitempty"`
	Vectors     [][]float32 `json:"vectors,omitempty"`
	Times       []time.Time `json:"times,omitempty"`
}

// ColumnsOf returns columns in the form of columns.json.
func ColumnsOf(columns []schema.Column) []Column {
	out := make([]Column, len(columns))
	for k := range columns {
		c := &columns[k]
		out[k] = Column{Name: c.Name, Type: c.Type.String(), Categorical: c.Categorical, Numbers: c.Numbers,
			Bools: c.Bools,
			Texts: c.Texts, Vectors: c.Vectors, Times: c.Times}
		for i, is := range c.Missing {
			if is {
				out[k].Missing = append(out[k].Missing, int32(i))
			}
		}
	}
	return out
}

// Of returns the column of a data set of n nodes.
func (j *Column) Of(n int) (c schema.Column, err error) {
	c = schema.Column{Name: j.Name, Categorical: j.Categorical, Numbers: j.Numbers, Bools: j.Bools, Texts: j.Texts,
		Vectors: j.Vectors, Times: j.Times}
	values := -1
	for t, of := range map[schema.ValueType]int{schema.Number: len(j.Numbers), schema.Bool: len(j.Bools),
		schema.Text: len(j.Texts), schema.Vector: len(j.Vectors), schema.Time: len(j.Times)} {
		switch {
		case t.String() == j.Type:
			c.Type, values = t, of
		case of > 0:
			return c, fmt.Errorf("its type is %q, and it has values of the type %s", j.Type, t)
		}
	}
	switch {
	case values < 0:
		return c, fmt.Errorf("its type is %q, want number, bool, string, vector or time", j.Type)
	case values != n:
		return c, fmt.Errorf("it has %d values for %d nodes", values, n)
	}
	if len(j.Missing) > 0 {
		c.Missing = make([]bool, n)
	}
	for _, i := range j.Missing {
		if i < 0 || int(i) >= n {
			return c, fmt.Errorf("node %d is missing, want 0 to %d", i, n-1)
		}
		c.Missing[i] = true
	}
	return c, nil
}
