package pickle

import (
	"errors"
	"fmt"
	"slices"
)

// collect executes the opcodes that make or fill tuples, lists and dicts.
func (m *machine) collect(op byte) error {
	switch op {
	case ')': // EMPTY_TUPLE
		m.push(Tuple{})
	case ']': // EMPTY_LIST
		m.push(&List{})
	case '}': // EMPTY_DICT
		m.push(&Dict{})
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		items := make(Tuple, op-0x84)
		for i := len(items) - 1; i >= 0; i-- {
			v, err := m.pop()
			if err != nil {
				return err
			}
			items[i] = v
		}
		m.push(items)
	case 'a', 's': // APPEND, SETITEM
		return m.fillOne(op)
	case 't', 'l', 'd', 'e', 'u': // TUPLE, LIST, DICT, APPENDS, SETITEMS
		return m.collectMarked(op)
	}
	return nil
}

func (m *machine) collectMarked(op byte) error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	switch op {
	case 't':
		m.push(Tuple(items))
		return nil
	case 'l':
		m.push(&List{items})
		return nil
	case 'd':
		d := &Dict{}
		m.push(d)
		return d.set(items)
	}
	top, err := m.top()
	if err != nil {
		return err
	}
	return fill(op == 'u', top, items)
}

// fillOne executes APPEND and SETITEM: it adds the item, or key and value, to the list or dict below it.
func (m *machine) fillOne(op byte) error {
	items := make([]any, 1, 2)
	if op == 's' {
		items = items[:2]
	}
	for i := range items {
		v, err := m.pop()
		if err != nil {
			return err
		}
		items[i] = v
	}
	slices.Reverse(items)
	top, err := m.top()
	if err != nil {
		return err
	}
	return fill(op == 's', top, items)
}

func fill(pairs bool, into any, items []any) error {
	switch v := into.(type) {
	case *List:
		if !pairs {
			v.Items = append(v.Items, items...)
			return nil
		}
	case *Dict:
		if pairs {
			return v.set(items)
		}
	}
	return fmt.Errorf("%T cannot be filled this way", into)
}

// set takes keys and values in turn.
func (d *Dict) set(items []any) error {
	if len(items)%2 != 0 {
		return errors.New("a dict gets a key without a value")
	}
	for i := 0; i < len(items); i += 2 {
		switch items[i].(type) {
		case int64, string:
		default:
			return fmt.Errorf("a key is %T, want an integer or a string", items[i])
		}
		d.Keys = append(d.Keys, items[i])
		d.Values = append(d.Values, items[i+1])
	}
	return nil
}
