package event

import (
	"errors"
	"math"
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
	for i := range fields {
		f := &fields[i]
		if f.Value.Type == schema.Number && (math.IsNaN(f.Value.Number) || math.IsInf(f.Value.Number, 0)) {
			return fieldErrorf(ReasonNotFinite, namedField(f.Name), "%v, features must be finite", f.Value.Number)
		}
		if f.Value.Type == schema.Vector {
			if err := checkFinite(f.Value.Vector, namedField(f.Name)); err != nil {
				return err
			}
		}
	}
	if i := repeated(fields); i >= 0 {
		return fieldErrorf(ReasonUnparsable, namedField(fields[i].Name), "is given twice")
	}
	return nil
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

// emptyNamed is a list of named features that is not nil, with the memory of another.
func emptyNamed(f *Features) []schema.Field {
	if f.Named == nil {
		return []schema.Field{}
	}
	return f.Named[:0]
}

// earlier returns field i of the record that was in the list before, whose texts and memory may be used again.
func earlier(list []schema.Field, i int) schema.Field {
	if i < cap(list) {
		return list[:cap(list)][i]
	}
	return schema.Field{}
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
