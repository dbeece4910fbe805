package schema

import (
	"slices"
	"time"
)

// Clone returns a copy of a column that can be appended to.
func (c *Column) Clone() Column {
	out := *c
	out.Missing, out.Numbers, out.Bools = slices.Clone(c.Missing), slices.Clone(c.Numbers), slices.Clone(c.Bools)
	out.Texts, out.Vectors, out.Times = slices.Clone(c.Texts), slices.Clone(c.Vectors), slices.Clone(c.Times)
	return out
}

// Take returns the column with the values of some nodes, in their order.
func (c *Column) Take(nodes []int32) Column {
	out := *c
	out.Missing, out.Numbers, out.Bools = take(c.Missing, nodes), take(c.Numbers, nodes), take(c.Bools, nodes)
	out.Texts, out.Vectors, out.Times = take(c.Texts, nodes), take(c.Vectors, nodes), take(c.Times, nodes)
	return out
}

func take[T any](of []T, nodes []int32) []T {
	if of == nil {
		return nil
	}
	some := make([]T, len(nodes))
	for k, i := range nodes {
		some[k] = of[i]
	}
	return some
}

// Append adds the value of one more node; [Column.Set] says how it is converted.
func (c *Column) Append(v Value) {
	if c.Missing != nil {
		c.Missing = append(c.Missing, false)
	}
	switch c.Type {
	case Number:
		c.Numbers = append(c.Numbers, 0)
	case Bool:
		c.Bools = append(c.Bools, false)
	case Text:
		c.Texts = append(c.Texts, "")
	case Vector:
		c.Vectors = append(c.Vectors, nil)
	case Time:
		c.Times = append(c.Times, time.Time{})
	}
	c.Set(c.Len()-1, v)
}

// Set sets the value of a node. The value may have another type than the column, because arrivals may write "true" or
// 1 for a bool: it is converted to the column's type. A text in a column of numbers or bools that are categories
// turns the whole column into texts. A value that cannot be converted counts as missing.
func (c *Column) Set(i int, v Value) {
	v = v.as(c.Type)
	if v.Type == Text && (c.Type == Number || c.Type == Bool) {
		c.becomeText()
	}
	v, ok := c.convert(v)
	if missing := !ok || v.Type == Missing; missing || c.Missing != nil {
		if c.Missing == nil {
			c.Missing = make([]bool, c.Len())
		}
		c.Missing[i] = missing
	}
	switch c.Type {
	case Number:
		c.Numbers[i] = v.Number
	case Bool:
		c.Bools[i] = v.Number != 0
	case Text:
		c.Texts[i] = v.Text
	case Vector:
		c.Vectors[i] = v.Vector
	case Time:
		c.Times[i] = v.Time
	}
}

// as returns the value as a column of type t can hold it: a Stamp as a time or a number, a Numeral as a number or a
// text; values of the types Unavailable and Other, and numbers that are not finite, become missing.
func (v Value) as(t ValueType) Value {
	switch {
	case v.Type == Stamp && t == Time:
		return Value{Type: Time, Time: v.Time}
	case v.Type == Stamp:
		return Value{Type: Number, Number: v.Number}
	case v.Type == Numeral && (t == Number || t == Bool):
		return Value{Type: Number, Number: v.Number}.as(t)
	case v.Type == Numeral:
		return Value{Type: Text, Text: v.Text}
	case v.Type == Unavailable, v.Type == Other, v.Type == Number && v.Number-v.Number != 0,
		v.Type == Vector && slices.ContainsFunc(v.Vector, func(x float32) bool { return x-x != 0 }):
		return Value{}
	}
	return v
}

// convert converts a value to the type of the column, and returns false where that is impossible.
func (c *Column) convert(v Value) (Value, bool) {
	switch {
	case v.Type == Missing:
		return Value{}, true
	case v.Type == c.Type && c.Type == Vector:
		return Value{Type: Vector, Vector: slices.Clone(v.Vector)}, true
	case v.Type == c.Type:
		return v, true
	case c.Type == Number && v.Type == Bool, c.Type == Bool && v.Type == Number && (v.Number == 0 || v.Number == 1):
		return Value{Type: c.Type, Number: v.Number}, true
	case c.Type == Text && (v.Type == Number || v.Type == Bool):
		return Value{Type: Text, Text: string(appendCategory(nil, &v))}, true
	case c.Type == Text && v.Type == Time:
		return Value{Type: Text, Text: v.Time.UTC().Format(time.RFC3339Nano)}, true
	case c.Type == Time && v.Type == Text:
		t, err := parseTime(v.Text)
		return Value{Type: Time, Time: t}, err == nil
	}
	return Value{}, false
}

// becomeText turns numbers or bools into the texts by which they are compared as categories: 1 becomes "1".
func (c *Column) becomeText() {
	texts := make([]string, c.Len())
	for i := range texts {
		if v := c.At(i); v.Type != Missing {
			texts[i] = string(appendCategory(nil, &v))
		}
	}
	c.Type, c.Texts, c.Numbers, c.Bools = Text, texts, nil, nil
}
