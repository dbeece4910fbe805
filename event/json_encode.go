package event

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendArrival appends a as one JSON object to dst: id, features, edges, time, in this order. Ids are written as
// strings; values are left out of a sparse row whose values are all 1, edges if there are none, time if it is
// zero. Features that are Absent are left out. An arrival that [JSON.DecodeArrival] would refuse for another reason is an
// error, and dst is then returned unchanged.
func (JSON) AppendArrival(dst []byte, a *Arrival) ([]byte, error) {
	out, err := appendArrival(dst, a)
	if err != nil {
		return dst, fmt.Errorf("encoding arrival %s: %w", cut(strconv.Quote(a.ID)), err)
	}
	return out, nil
}

func appendArrival(dst []byte, a *Arrival) ([]byte, error) {
	dst, err := appendID(append(dst, `{"id":`...), a.ID, "id", -1)
	if err != nil {
		return dst, err
	}
	if !a.Features.Absent {
		if dst, err = appendFeatures(append(dst, `,"features":`...), &a.Features); err != nil {
			return dst, err
		}
	}
	if len(a.Edges) > 0 {
		dst = append(dst, `,"edges":[`...)
		for i, id := range a.Edges {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendID(dst, id, "edges", i); err != nil {
				return dst, err
			}
		}
		dst = append(dst, ']')
	}
	if !a.Time.IsZero() {
		if dst, err = appendTime(append(dst, `,"time":`...), a.Time); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendID(dst []byte, id, field string, i int) ([]byte, error) {
	if id == "" {
		return dst, fieldErrorf(ReasonUnparsable, place(field, i), "is empty")
	}
	dst, err := jsontext.AppendQuote(dst, id)
	if err != nil {
		return dst, fieldErrorf(ReasonUnparsable, place(field, i), "%s is not UTF-8", cut(strconv.Quote(id)))
	}
	return dst, nil
}

func appendFeatures(dst []byte, f *Features) ([]byte, error) {
	if f.Named != nil {
		return appendNamed(dst, f.Named)
	}
	if !f.Sparse {
		if err := checkFinite(f.Values, "features"); err != nil {
			return dst, err
		}
		return appendFloats(dst, f.Values), nil
	}
	if err := f.checkSparse(maxIndex); err != nil {
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
	if slices.ContainsFunc(f.Values, func(v float32) bool { return v != 1 }) {
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

func appendTime(dst []byte, t time.Time) ([]byte, error) {
	if err := checkYears(t, "time"); err != nil {
		return dst, err
	}
	return append(appendRFC3339(append(dst, '"'), t), '"'), nil
}
