package schema

import (
	"fmt"
	"slices"
	"sync"
)

// Encode writes the row of a node with these fields, in any order, to dst, which has [Schema.Width] numbers. A
// feature whose field is absent or null is missing. The error is an *[Error]; then the content of dst is undefined.
// Encode does not allocate unless it fails.
func (s *Schema) Encode(dst []float32, fields []Field) error {
	if len(dst) != s.width {
		panic(fmt.Sprintf("schema: a row of %d numbers for %d positions", len(dst), s.width))
	}
	clear(dst)
	r := row{dense: dst}
	return s.encode(&r, fields)
}

// AppendSparse appends the row of a node as ascending positions and their numbers. Positions that are left out are 0.
func (s *Schema) AppendSparse(indices []int32, values []float32, fields []Field) ([]int32, []float32, error) {
	r := row{indices: indices, values: values}
	err := s.encode(&r, fields)
	return r.indices, r.values, err
}

// row collects the numbers of one node, dense or sparse.
type row struct {
	dense   []float32
	indices []int32
	values  []float32
}

// put sets a position. Positions ascend.
func (r *row) put(position int, v float32) {
	switch {
	case r.dense != nil:
		r.dense[position] = v
	case v != 0:
		r.indices, r.values = append(r.indices, int32(position)), append(r.values, v)
	}
}

// noField is the slot of a feature without a field.
const noField = -1

// scratch is the memory of one call of encode.
type scratch struct {
	slots []int32 // the field of each feature and unused column, or noField
	// order has, for each field of the last row, its feature or unused column. The rows of a stream mostly have their
	// fields in one order, so that order is tried first. It may be the order of another schema.
	order []int32
	// of and fields are the schema and the number of fields for which the slots were found. The slots are right for the
	// next row, too, if it has the same names in the same order.
	of     *Schema
	fields int
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *Schema) encode(r *row, fields []Field) error {
	m := scratches.Get().(*scratch)
	defer scratches.Put(m)
	if err := s.assign(m, fields); err != nil {
		return err
	}
	kind, err := s.typeOf(m.slots, fields)
	if err != nil {
		return err
	}
	for k, position := range s.numbers {
		v := value(m.slots, k, fields)
		if s.typed >= 0 {
			f := &s.features[k]
			if k == s.typed {
				r.put(f.start+f.category[kind], 1)
				continue
			}
			if f.Of != "" && f.Of != kind {
				if err := f.foreign(v, kind); err != nil {
					return err
				}
				f.absent(r)
				continue
			}
		}
		if position >= 0 && v.Type == Number && representable(v.Number) { // most features of most rows
			r.put(int(position), float32(v.Number))
			continue
		}
		f := &s.features[k]
		missing, err := s.feature(r, k, v, m.slots, fields)
		if err != nil {
			return err
		}
		if missing {
			if err := f.missing(r); err != nil {
				return err
			}
			s.tally.missing(k)
		}
	}
	return nil
}

// value returns the field in a slot.
func value(slots []int32, k int, fields []Field) *Value {
	if slots[k] == noField {
		return &none
	}
	return &fields[slots[k]].Value
}

var none Value // is missing

// assign sets the field of each slot. Fields in the order of the row before need no look-up.
func (s *Schema) assign(m *scratch, fields []Field) error {
	if m.of == s && m.fields == len(fields) && s.named(m.order, fields) {
		return nil
	}
	m.of = nil
	m.slots = slices.Grow(m.slots[:0], len(s.names))[:len(s.names)]
	for k := range m.slots {
		m.slots[k] = noField
	}
	for k := len(m.order); k < len(fields); k++ {
		m.order = append(m.order, int32(k))
	}
	all := true
	for i := range fields {
		name, slot := fields[i].Name, int(m.order[i])
		if slot >= len(s.names) || s.names[slot] != name {
			var known bool
			if slot, known = s.slots[name]; !known {
				if s.tolerant || s.optional != nil && s.optional(name) {
					all = false
					continue
				}
				return faultf(Unknown, name, "the schema has no such feature")
			}
			m.order[i] = int32(slot)
		}
		if m.slots[slot] != noField {
			return faultf(Repeated, name, "is given twice")
		}
		m.slots[slot] = int32(i)
	}
	if all {
		m.of, m.fields = s, len(fields)
	}
	return nil
}

// named reports whether each field has its slot's name.
func (s *Schema) named(order []int32, fields []Field) bool {
	for i := range fields {
		if s.names[order[i]] != fields[i].Name {
			return false
		}
	}
	return true
}

// feature writes the numbers of a value, or reports that the value is missing.
func (s *Schema) feature(r *row, at int, v *Value, slots []int32, fields []Field) (missing bool, err error) {
	f := &s.features[at]
	switch v.Type {
	case Missing:
		return true, nil
	case Unavailable:
		return false, faultf(Refused, f.Name, "%s", v.Text)
	}
	switch f.Kind {
	case KindNumber, KindBool:
		x, err := f.number(v)
		r.put(f.start, float32(x))
		return false, err
	case KindCategory:
		k, err := f.slot(v)
		if k == len(f.Categories) && err == nil {
			s.tally.unseen(at, v)
		}
		r.put(f.start+k, 1)
		return false, err
	case KindText:
		if v.Type != Text && v.Type != Numeral {
			return false, f.wrongType(v, "a string")
		}
		f.words(r, v.Text, seedHash(s.seed))
		return false, nil
	case KindVector:
		elements, err := f.vector(v)
		for k, x := range elements {
			r.put(f.start+k, x)
		}
		return false, err
	}
	t, err := f.moment(v)
	if err != nil {
		return false, err
	}
	if f.Kind == KindTime {
		for k, name := range f.Parts {
			r.put(f.start+k, float32(part(t, name)))
		}
		return false, nil
	}
	until := f.Until
	if f.until >= 0 {
		other := value(slots, f.until, fields)
		if other.Type == Missing {
			return true, nil
		}
		if other.Type == Unavailable {
			return false, faultf(Refused, f.UntilFeature, "%s", other.Text)
		}
		if until, err = (&Feature{Name: f.UntilFeature}).moment(other); err != nil {
			return false, err
		}
	}
	r.put(f.start, float32(days(t, until)))
	return false, nil
}

// missing writes the numbers of a missing value, by the feature's rule.
func (f *Feature) missing(r *row) error {
	switch f.Missing {
	case RuleRefuse:
		return faultf(Refused, f.Name, "is missing, the schema refuses that")
	case RuleZero:
		return nil
	}
	for k, m := range f.Mean {
		r.put(f.start+k, float32(m))
	}
	if f.Missing == RuleColumn {
		r.put(f.start+f.values(), 1)
	}
	return nil
}

// words writes the counts of hashed words, divided by their L2 norm.
func (f *Feature) words(r *row, text string, start uint64) {
	if r.dense != nil {
		f.denseWords(r.dense[f.start:f.start+f.Buckets], text, start)
		return
	}
	first := len(r.indices)
	for {
		bucket, rest, ok := nextWord(text, start, f.Buckets)
		if !ok {
			break
		}
		r.indices, text = append(r.indices, int32(f.start+bucket)), rest
	}
	if first == len(r.indices) {
		return
	}
	// A run of equal positions becomes one position with its count.
	slices.Sort(r.indices[first:])
	kept, squares := first, 0.0
	for k := first; k < len(r.indices); {
		run := k
		for k < len(r.indices) && r.indices[k] == r.indices[run] {
			k++
		}
		r.indices[kept], r.values = r.indices[run], append(r.values, float32(k-run))
		squares += float64(k-run) * float64(k-run)
		kept++
	}
	r.indices = r.indices[:kept]
	scale(r.values[len(r.values)-(kept-first):], squares)
}

func (f *Feature) denseWords(counts []float32, text string, start uint64) {
	for {
		bucket, rest, ok := nextWord(text, start, f.Buckets)
		if !ok {
			break
		}
		counts[bucket]++
		text = rest
	}
	squares := 0.0
	for _, c := range counts {
		squares += float64(c) * float64(c)
	}
	scale(counts, squares)
}

// scale divides counts by their L2 norm.
func scale(counts []float32, squares float64) {
	if squares == 0 {
		return
	}
	by := norm(squares)
	for k := range counts {
		counts[k] /= by
	}
}
