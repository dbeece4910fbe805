package fields

import (
	"slices"

	"rivulet/event"
	"rivulet/schema"
)

// CheckNamed refuses numbers that are not finite, and names that are there twice.
func CheckNamed(fields []schema.Field) error {
	if err := CheckNamedFinite(fields); err != nil {
		return err
	}
	if i := repeated(fields); i >= 0 {
		return namedTwice(fields[i].Name)
	}
	return nil
}

// CheckNamedFinite refuses numbers that are not finite.
func CheckNamedFinite(fields []schema.Field) error {
	for i := range fields {
		f := &fields[i]
		if f.Value.Type == schema.Number && f.Value.Number-f.Value.Number != 0 {
			return event.Errorf(event.ReasonNotFinite, event.NamedField(f.Name), "%v, features must be finite", f.Value.Number)
		}
		if f.Value.Type == schema.Vector {
			if err := event.CheckFinite(f.Value.Vector, event.NamedField(f.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func namedTwice(name string) error {
	return event.Errorf(event.ReasonUnparsable, event.NamedField(name), "is given twice")
}

// linearNames is the number of fields up to which comparing each with each beats a map.
const linearNames = 24

// repeated returns the index of a field whose name an earlier one has, -1 if there is none.
func repeated(fields []schema.Field) int {
	if len(fields) > linearNames {
		seen := make(map[string]struct{}, len(fields))
		for i := range fields {
			if _, twice := seen[fields[i].Name]; twice {
				return i
			}
			seen[fields[i].Name] = struct{}{}
		}
		return -1
	}
	for i := range fields {
		for k := range i {
			if fields[k].Name == fields[i].Name {
				return i
			}
		}
	}
	return -1
}

// NamedList gathers the named features of a record in the memory of the record before. That mostly had the same names
// in the same order: then they are known to be distinct, and their strings are used again.
type NamedList struct {
	Fields []schema.Field // not nil; behind its end are the fields of the record before
	known  int            // how many names of the record before are distinct
	Same   bool           // all names so far are the names of the record before
	twice  *string        // a name that is there twice; nil: none was found yet
}

// TakeNamed begins a list with the memory of f, which has no named features until [SetNamed].
func TakeNamed(f *event.Features) NamedList {
	l := NamedList{Fields: f.Named[:0], known: len(f.Named), Same: true}
	if f.Named = nil; l.Fields == nil {
		l.Fields = []schema.Field{}
	}
	return l
}

// Expected returns the name that the record before had in the next place, "" if there was none.
func (l *NamedList) Expected() string {
	if i := len(l.Fields); i < l.known {
		return l.Fields[:i+1][i].Name
	}
	return ""
}

// Add appends a field. It still has the value of the record before, whose memory may be used again.
func (l *NamedList) Add(name []byte) *schema.Field {
	f := l.Next()
	if l.Same = l.Same && len(l.Fields) <= l.known && f.Name == string(name); !l.Same {
		f.Name = TextOf(name, f.Name)
	}
	return f
}

// AddText is add of a name whose string is used.
func (l *NamedList) AddText(name string) *schema.Field {
	f := l.Next()
	l.Same = l.Same && len(l.Fields) <= l.known && f.Name == name
	f.Name = name
	return f
}

// firstLook is the number of fields at which a list first looks for names that are there twice.
const firstLook = 4096

// Next is add of the expected name. A list that is long looks for repeated names while it grows, as the record is
// refused then: two bytes of Protobuf are an entry without a name, for which the list takes a field of 88 bytes.
func (l *NamedList) Next() *schema.Field {
	n := len(l.Fields)
	if n >= firstLook && n&(n-1) == 0 && !l.Same && l.twice == nil {
		if i := repeated(l.Fields); i >= 0 {
			name := l.Fields[i].Name
			l.twice = &name
		}
	}
	if l.twice != nil {
		return &l.Fields[n-1]
	}
	if n == cap(l.Fields) {
		l.Fields = slices.Grow(l.Fields, 1)
	}
	l.Fields = l.Fields[:n+1]
	return &l.Fields[n]
}

// Distinct refuses a name that is there twice.
func (l *NamedList) Distinct() error {
	switch {
	case l.twice != nil:
		return namedTwice(*l.twice)
	case l.Same:
		return nil
	}
	if i := repeated(l.Fields); i >= 0 {
		return namedTwice(l.Fields[i].Name)
	}
	return nil
}

// TextOf returns text as a string. It returns old if that has the same bytes, which allocates nothing.
func TextOf(text []byte, old string) string {
	if string(text) == old {
		return old
	}
	return string(text)
}

// SetNamed makes a row one of named features, without positions.
func SetNamed(f *event.Features, named []schema.Field) {
	f.Sparse, f.Indices, f.Values, f.Named = false, nil, f.Values[:0], named
}
