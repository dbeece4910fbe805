package json

import (
	"bytes"
	"strconv"
	"strings"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/schema"
)

// AppendFeatures appends the value of the field features to dst.
func AppendFeatures(dst []byte, f *event.Features) ([]byte, error) {
	if f.Named != nil {
		return appendNamed(dst, f.Named)
	}
	if !f.Sparse {
		if err := event.CheckFinite(f.Values, "features"); err != nil {
			return dst, err
		}
		return appendFloats(dst, f.Values), nil
	}
	if err := f.Check(fields.MaxIndex); err != nil {
		return dst, err
	}
	dst = append(dst, `{"indices":[`...)
	for k, i := range f.Indices {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(i), 10)
	}
	dst = append(dst, ']')
	if !fields.AllOnes(f) {
		dst = appendFloats(append(dst, `,"values":`...), f.Values)
	}
	return append(dst, '}'), nil
}

// appendFloats writes finite values in the shortest form that reads back as the same float32.
func appendFloats(dst []byte, values []float32) []byte {
	dst = append(dst, '[')
	for k, v := range values {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(v), 'g', -1, 32)
	}
	return append(dst, ']')
}

// scanFeatures reads the JSON text of features in its plain form, and reports whether it could ([scanPlain]).
func scanFeatures(data []byte, f *event.Features) bool {
	s := scanners.Get().(*scanner)
	s.data, s.at = data, 0
	ok := s.features(f)
	s.space()
	ok = ok && s.at == len(data)
	s.data = nil
	scanners.Put(s)
	return ok
}

// DecodeFeatures reads the JSON text of features.
func DecodeFeatures(data []byte, f *event.Features) error {
	f.Absent = false
	if scanFeatures(data, f) {
		return nil
	}
	d := decoders.Get().(*decoder)
	defer d.release()
	if err := d.begin(data, "features"); err != nil {
		return err
	}
	if err := d.features(f); err != nil {
		return Refused(err)
	}
	return d.end()
}

// features reads a dense or a sparse row.
func (d *decoder) features(f *event.Features) error {
	switch d.dec.PeekKind() {
	case '[':
		values, err := d.floats(f.Values[:0], "features")
		*f = event.Features{Values: values}
		return err
	case '{':
		return d.sparse(f)
	}
	return d.wrongKind("features", "an array, or an object with indices and values, or with named")
}

func (d *decoder) sparse(f *event.Features) error {
	f.Sparse = true
	var hasIndices, hasValues bool
	var named []schema.Field
	err := d.object("features", func(name []byte) (err error) {
		switch string(name) {
		case "indices":
			hasIndices = true
			f.Indices, err = d.indices(f.Indices[:0])
		case "values":
			if !d.null() {
				hasValues = true
				f.Values, err = d.floats(f.Values[:0], "features.values")
			}
		case "named":
			named, err = d.named(f)
		default:
			err = d.dec.SkipValue()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case named != nil && (hasIndices || hasValues):
		return event.Errorf(event.ReasonUnparsable, "features", "has named beside indices or values, want one of the two")
	case named != nil:
		fields.SetNamed(f, named)
		return nil
	case !hasIndices:
		return event.Errorf(event.ReasonUnparsable, "features.indices", "is missing")
	case !hasValues:
		fields.SetOnes(f)
	}
	f.Named = nil
	return fields.Order(f)
}

func (d *decoder) floats(values []float32, field string) ([]float32, error) {
	err := d.array(field, func(i int) error {
		v, err := d.float(field, i)
		values = append(values, v)
		return err
	})
	return values, err
}

// float reads a number, element i of a list unless i is negative.
func (d *decoder) float(field string, i int) (float32, error) {
	number, err := d.dec.ReadValue()
	if err != nil {
		return 0, d.notFinite(err, field, i)
	}
	switch number.Kind() {
	case '0':
	case 'n': // how JavaScript and pandas write NaN
		return 0, event.Errorf(event.ReasonNotFinite, fields.Place(field, i), "null, features must be finite numbers")
	default:
		return 0, unwanted(fields.Place(field, i), number, "a number")
	}
	// A conversion in the call itself does not allocate. The number's grammar is checked, so only the range can be
	// wrong.
	v, err := strconv.ParseFloat(string(number), 32)
	if err != nil {
		return 0, event.Errorf(event.ReasonNotFinite, fields.Place(field, i), "%s is beyond float32",
			event.Cut(string(number)))
	}
	return float32(v), nil
}

func (d *decoder) notFinite(err error, field string, i int) error {
	return NotFinite(err, d.data[d.dec.InputOffset():], fields.Place(field, i))
}

// NotFinite returns the error of a parser that stopped in a feature, in front of rest. JSON has no NaN and no infinity,
// but Python writes NaN, Infinity and -Infinity, and C writes nan and inf: then the error is of the reason not_finite
// and says more than "invalid character".
func NotFinite(err error, rest []byte, field string) error {
	rest = bytes.TrimLeft(rest, ",: \t\r\n")
	end := bytes.IndexAny(rest, ",]} \t\r\n")
	if end < 0 || end > len("-Infinity") {
		return err
	}
	literal := string(rest[:end])
	switch strings.ToLower(strings.TrimLeft(literal, "+-")) {
	case "nan", "inf", "infinity":
		return event.Errorf(event.ReasonNotFinite, field, "%s, features must be finite", literal)
	}
	return err
}

func (d *decoder) indices(indices []int32) ([]int32, error) {
	const field = "features.indices"
	err := d.array(field, func(i int) error {
		number, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		if number.Kind() != '0' || !plainInteger(number) {
			return unwanted(event.Element(field, i), number, "a plain integer")
		}
		v, err := strconv.ParseInt(string(number), 10, 32)
		if err != nil || v < 0 {
			return event.Errorf(event.ReasonFeatureLength, event.Element(field, i), "%s is outside 0…2147483647",
				event.Cut(string(number)))
		}
		indices = append(indices, int32(v))
		return nil
	})
	return indices, err
}
