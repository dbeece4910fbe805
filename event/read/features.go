package read

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"rivulet/event"
	"rivulet/event/json"
)

// FeatureForm is the form in which the features of one node are written by themselves, as in a store of
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
// error, as are features that [FeatureForm.Decode] would refuse.
func (form FeatureForm) Append(dst []byte, f *event.Features) ([]byte, error) {
	if form == FeaturesJSON {
		return json.AppendFeatures(dst, f)
	}
	if f.Sparse || f.Named != nil {
		return dst, fmt.Errorf("features are sparse or by name, %s holds the values of all positions", form)
	}
	if err := event.CheckFinite(f.Values, "features"); err != nil {
		return dst, err
	}
	for _, v := range f.Values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst, nil
}

// Decode reads features of this form into f, reusing its memory. The error is a *[event.FieldError]; then the content
// of f is undefined.
func (form FeatureForm) Decode(data []byte, f *event.Features) error {
	if form == FeaturesJSON {
		return json.DecodeFeatures(data, f)
	}
	if len(data)%4 != 0 {
		return event.Errorf(event.ReasonUnparsable, "features", "%d bytes, want four for each float32", len(data))
	}
	values := slices.Grow(f.Values[:0], len(data)/4)
	for rest := data; len(rest) > 0; rest = rest[4:] {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(rest)))
	}
	*f = event.Features{Indices: f.Indices[:0], Values: values}
	return nil
}
