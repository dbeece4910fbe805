package schema

import "time"

// ValueType is the type of one value, as a table or an arrival gives it.
type ValueType uint8

// The types of values.
const (
	Missing ValueType = iota // absent, null, or an empty cell
	Number
	Bool
	Text
	Vector // floats of a fixed length
	Time

	// Types that only arrivals have, whose records say less than a table. They are read by the feature's kind, and become
	// one of the types above in a column ([Column.Set]).

	Stamp       // a number that is a time, too: Number and Time, as 1704067200000 in milliseconds
	Numeral     // a text that is a number, too: Text and Number, as a decimal "41.50"
	Unavailable // the record has a placeholder for the value; Text names it, with advice
	Other       // no value for a feature, such as an object; Text names it
)

func (t ValueType) String() string {
	return [...]string{"missing", "number", "bool", "string", "vector", "time", "number or time", "string or number",
		"unavailable", "other"}[t]
}

// Value is the value of one feature of one node. Only the field that belongs to Type counts; decoders may leave
// anything in the others. The zero Value is a missing value.
type Value struct {
	Type   ValueType
	Number float64 // of a Number; 1 or 0 of a Bool
	Text   string
	Vector []float32
	Time   time.Time
}

// Field is a named value of an arrival.
type Field struct {
	Name  string
	Value Value
}

// Column is one column of a table of nodes, with a value for each node in their order.
type Column struct {
	Name string
	Type ValueType // of all values that are not missing
	// Missing has an element for each node, or is nil if no value is missing.
	Missing []bool

	// The list that belongs to Type has the values, zero for a missing one; the other lists are nil.
	Numbers []float64
	Bools   []bool
	Texts   []string
	Vectors [][]float32
	Times   []time.Time

	// Categorical says that the table itself declares the values to be categories.
	Categorical bool
}

// Len returns the number of nodes.
func (c *Column) Len() int {
	return max(len(c.Numbers), len(c.Bools), len(c.Texts), len(c.Vectors), len(c.Times))
}

// At returns the value of a node.
func (c *Column) At(i int) Value {
	if c.Missing != nil && c.Missing[i] {
		return Value{}
	}
	v := Value{Type: c.Type}
	switch c.Type {
	case Number:
		v.Number = c.Numbers[i]
	case Bool:
		if c.Bools[i] {
			v.Number = 1
		}
	case Text:
		v.Text = c.Texts[i]
	case Vector:
		v.Vector = c.Vectors[i]
	case Time:
		v.Time = c.Times[i]
	}
	return v
}
