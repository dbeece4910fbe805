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
	if fault, ok := errors.AsType[*schema.Error](err); ok {
		return Errorf(namedReasons[fault.Fault], NamedField(fault.Feature), "%s", fault.Detail)
	}
	return err
}

var namedReasons = [...]string{schema.Unknown: ReasonFeatureUnknown, schema.Repeated: ReasonUnparsable,
	schema.WrongType: ReasonFeatureType, schema.WrongSize: ReasonFeatureLength, schema.NotFinite: ReasonNotFinite,
	schema.Refused: ReasonFeatureMissing}

// NamedField returns the path of a named feature.
func NamedField(name string) string { return "features.named." + Cut(name) }
