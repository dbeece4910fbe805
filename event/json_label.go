package event

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// DecodeLabel reads one JSON record into l. It overwrites all of l with new strings. The error is a *[FieldError],
// then the content of l is undefined.
func (JSON) DecodeLabel(data []byte, l *Label) error {
	d := arrivalDecoders.Get().(*arrivalDecoder)
	defer d.release()
	d.data, d.buf = data, *bytes.NewBuffer(data)
	d.dec.Reset(&d.buf)
	*l = Label{Class: ByName}
	if len(bytes.TrimSpace(data)) == 0 {
		return fieldErrorf(ReasonUnparsable, "", "the record is empty")
	}
	var hasClass, hasName bool
	err := d.object("", func(name string) (err error) {
		switch name {
		case "id":
			l.ID, err = d.arrivalID()
		case "class":
			if !d.null() {
				hasClass = true
				l.Class, err = d.class()
			}
		case "class_name":
			if !d.null() {
				hasName = true
				l.ClassName, err = d.className()
			}
		case "time":
			l.Time, err = d.time()
		default:
			err = d.dec.SkipValue()
		}
		return err
	})
	if err != nil {
		return parseError(err)
	}
	if err := l.check(hasClass, hasName); err != nil {
		return err
	}
	return d.end()
}

// class reads the index of a class.
func (d *arrivalDecoder) class() (int, error) {
	value, err := d.dec.ReadValue()
	if err != nil {
		return 0, err
	}
	if value.Kind() != '0' || !plainInteger(value) || string(value) == "-0" {
		return 0, unwanted("class", value, "a plain integer; a name goes into class_name")
	}
	c, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil || c < 0 {
		return 0, fieldErrorf(ReasonUnparsable, "class", "%s is outside 0…%d", cut(string(value)), math.MaxInt32)
	}
	return int(c), nil
}

func (d *arrivalDecoder) className() (string, error) {
	value, err := d.dec.ReadValue()
	if err != nil {
		return "", err
	}
	if value.Kind() != '"' {
		return "", unwanted("class_name", value, "a string; an index goes into class")
	}
	d.name, err = jsontext.AppendUnquote(d.name[:0], value)
	return string(d.name), err
}

// AppendLabel appends l as one JSON object to dst: id, class or class_name, time if it is not zero. A label that
// [JSON.DecodeLabel] would refuse is an error, and dst is then returned unchanged.
func (JSON) AppendLabel(dst []byte, l *Label) ([]byte, error) {
	out, err := appendLabel(dst, l)
	if err != nil {
		return dst, fmt.Errorf("encoding label of %s: %w", cut(strconv.Quote(l.ID)), err)
	}
	return out, nil
}

func appendLabel(dst []byte, l *Label) ([]byte, error) {
	if err := l.checkWritten(); err != nil {
		return dst, err
	}
	dst, err := appendID(append(dst, `{"id":`...), l.ID, "id", -1)
	if err != nil {
		return dst, err
	}
	if l.ClassName == "" {
		dst = strconv.AppendInt(append(dst, `,"class":`...), int64(l.Class), 10)
	} else if dst, err = jsontext.AppendQuote(append(dst, `,"class_name":`...), l.ClassName); err != nil {
		return dst, fieldErrorf(ReasonUnparsable, "class_name", "%s is not UTF-8", cut(strconv.Quote(l.ClassName)))
	}
	if !l.Time.IsZero() {
		if dst, err = appendTime(append(dst, `,"time":`...), l.Time); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// checkWritten refuses a label that a reader would refuse.
func (l *Label) checkWritten() error {
	if l.Class > math.MaxInt32 {
		return fieldErrorf(ReasonUnparsable, "class", "%d is outside 0…%d", l.Class, math.MaxInt32)
	}
	return l.check(l.Class != ByName, l.ClassName != "")
}
