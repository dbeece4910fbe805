package event

import (
	"errors"
	"slices"

	"rivulet/schema"
)

// Encode makes the row of the named features by a schema: dense, or sparse where the schema's rows are. Named stays.
// The error is a *[FieldError] that names the feature.
func (f *Features) Encode(s *schema.Schema) (err error) {
	if s.Sparse() {
		f.Sparse = true
		f.Indices, f.Values, err = s.AppendSparse(f.Indices[:0], f.Values[:0], f.Named)
	} else {
		f.Sparse, f.Indices = false, nil
		f.Values = slices.Grow(f.Values[:0], s.Width())[:s.Width()]
		err = s.Encode(f.Values, f.Named)
	}
	if err == nil {
		return nil
	}
	var fault *schema.Error
	if errors.As(err, &fault) {
		return fieldErrorf(namedReasons[fault.Fault], namedField(fault.Feature), "%s", fault.Detail)
	}
	return err
}

var namedReasons = [...]string{schema.Unknown: ReasonFeatureUnknown, schema.Repeated: ReasonUnparsable,
	schema.WrongType: ReasonFeatureType, schema.WrongSize: ReasonFeatureLength, schema.NotFinite: ReasonNotFinite,
	schema.Refused: ReasonFeatureMissing}

// namedField returns the path of a named feature.
func namedField(name string) string { return "features.named." + cut(name) }

// checkNamed refuses numbers that are not finite, and names that are there twice.
func checkNamed(fields []schema.Field) error {
	if err := checkNamedFinite(fields); err != nil {
		return err
	}
	if i := repeated(fields); i >= 0 {
		return namedTwice(fields[i].Name)
	}
	return nil
}

func checkNamedFinite(fields []schema.Field) error {
	for i := range fields {
		f := &fields[i]
		if f.Value.Type == schema.Number && f.Value.Number-f.Value.Number != 0 {
			return fieldErrorf(ReasonNotFinite, namedField(f.Name), "%v, features must be finite", f.Value.Number)
		}
		if f.Value.Type == schema.Vector {
			if err := checkFinite(f.Value.Vector, namedField(f.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func namedTwice(name string) error {
	return fieldErrorf(ReasonUnparsable, namedField(name), "is given twice")
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

// namedList gathers the named features of a record in the memory of the record before, which mostly had the same
// names in the same order: they were found distinct there, and their strings are used again.
type namedList struct {
	fields []schema.Field // not nil; behind its end is what the record before had there
	known  int            // how many names of the record before are distinct
	same   bool           // all names so far are those of the record before
	twice  *string        // a name that is there twice; nil: none was found yet
}

// takeNamed begins a list with the memory of f, which has no named features until [Features.becomeNamed].
func takeNamed(f *Features) namedList {
	l := namedList{fields: f.Named[:0], known: len(f.Named), same: true}
	if f.Named = nil; l.fields == nil {
		l.fields = []schema.Field{}
	}
	return l
}

// expected returns the name that the record before had in the next place, "" if there was none.
func (l *namedList) expected() string {
	if i := len(l.fields); i < l.known {
		return l.fields[:i+1][i].Name
	}
	return ""
}

// rest returns the next up to n fields of the record before, which is where [namedList.next] puts fields.
func (l *namedList) rest(n int) []schema.Field {
	from := len(l.fields)
	return l.fields[from:max(from, min(l.known, from+n))]
}

// add appends a field. Its value is what was there in the record before, whose memory may be used again.
func (l *namedList) add(name []byte) *schema.Field {
	f := l.next()
	if l.same = l.same && len(l.fields) <= l.known && f.Name == string(name); !l.same {
		f.Name = textOf(name, f.Name)
	}
	return f
}

// addText is add of a name whose string is used.
func (l *namedList) addText(name string) *schema.Field {
	f := l.next()
	l.same = l.same && len(l.fields) <= l.known && f.Name == name
	f.Name = name
	return f
}

// firstLook is the number of fields at which a list first looks for names that are there twice.
const firstLook = 4096

// next is add of the expected name. A list that is long looks for repeated names while it grows, as the record is
// refused then: two bytes of Protobuf are an entry without a name, for which the list takes a field of 88 bytes.
func (l *namedList) next() *schema.Field {
	n := len(l.fields)
	if n >= firstLook && n&(n-1) == 0 && !l.same && l.twice == nil {
		if i := repeated(l.fields); i >= 0 {
			name := l.fields[i].Name
			l.twice = &name
		}
	}
	if l.twice != nil {
		return &l.fields[n-1]
	}
	if n == cap(l.fields) {
		l.fields = slices.Grow(l.fields, 1)
	}
	l.fields = l.fields[:n+1]
	return &l.fields[n]
}

// distinct refuses a name that is there twice.
func (l *namedList) distinct() error {
	switch {
	case l.twice != nil:
		return namedTwice(*l.twice)
	case l.same:
		return nil
	}
	if i := repeated(l.fields); i >= 0 {
		return namedTwice(l.fields[i].Name)
	}
	return nil
}

// textOf returns text as a string, which is old where that is the same.
func textOf(text []byte, old string) string {
	if string(text) == old {
		return old
	}
	return string(text)
}

// becomeNamed makes the row one of named features, without positions.
func (f *Features) becomeNamed(named []schema.Field) {
	f.Sparse, f.Indices, f.Values, f.Named = false, nil, f.Values[:0], named
}
