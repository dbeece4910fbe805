package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// errNoFeatures is the fault of an arrival that is whole but for its features. Decoders return it last, when all else
// has been read.
var errNoFeatures = &FieldError{Reason: ReasonUnparsable, Field: "features", Detail: "is missing"}

// lacksFeatures reports whether an arrival was read that is whole but for its features.
func lacksFeatures(err error) bool { return errors.Is(err, errNoFeatures) }

// becomeAbsent makes the row one that is still to be looked up.
func (f *Features) becomeAbsent() {
	*f = Features{Indices: f.Indices[:0], Values: f.Values[:0], Absent: true}
}

// FeatureForm is how the features of one node are written where they stand by themselves, as in a store of
// features by id.
type FeatureForm string

// The forms of features.
const (
	// FeaturesFloat32 are all d values as float32, little-endian, with nothing before, between or after them.
	FeaturesFloat32 FeatureForm = "float32"
	// FeaturesJSON is the JSON text that an arrival has under "features": a list, a sparse row, or features by name.
	FeaturesJSON FeatureForm = "json"
)

// Append appends the features in this form to dst. Sparse rows and features by name have no form float32: they are an
// error, as is what [FeatureForm.Decode] would refuse.
func (form FeatureForm) Append(dst []byte, f *Features) ([]byte, error) {
	if form == FeaturesJSON {
		return appendFeatures(dst, f)
	}
	if f.Sparse || f.Named != nil {
		return dst, fmt.Errorf("features are sparse or by name, %s holds the values of all positions", form)
	}
	if err := checkFinite(f.Values, "features"); err != nil {
		return dst, err
	}
	for _, v := range f.Values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst, nil
}

// Decode reads features of this form into f, reusing its memory. The error is a *[FieldError]; then the content of f
// is undefined.
func (form FeatureForm) Decode(data []byte, f *Features) error {
	if form == FeaturesJSON {
		return decodeFeatures(data, f)
	}
	if len(data)%4 != 0 {
		return fieldErrorf(ReasonUnparsable, "features", "%d bytes, want four for each float32", len(data))
	}
	values := slices.Grow(f.Values[:0], len(data)/4)
	for rest := data; len(rest) > 0; rest = rest[4:] {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(rest)))
	}
	*f = Features{Indices: f.Indices[:0], Values: values}
	return nil
}

// scanFeatures reads the JSON text of features in its plain form, and reports whether it could ([scanPlain]).
func scanFeatures(data []byte, f *Features) bool {
	s := arrivalScanners.Get().(*arrivalScanner)
	s.data, s.at = data, 0
	ok := s.features(f)
	s.space()
	ok = ok && s.at == len(data)
	s.data = nil
	arrivalScanners.Put(s)
	return ok
}

// decodeFeatures reads the JSON text of features.
func decodeFeatures(data []byte, f *Features) error {
	f.Absent = false
	if scanFeatures(data, f) {
		return nil
	}
	d := arrivalDecoders.Get().(*arrivalDecoder)
	defer d.release()
	if err := d.begin(data, "features"); err != nil {
		return err
	}
	if err := d.features(f); err != nil {
		return parseError(err)
	}
	return d.end()
}
