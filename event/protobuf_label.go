package event

import (
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of schema/label.proto.
const (
	labelID        = 1
	labelClass     = 2
	labelClassName = 3
	labelTime      = 4
)

var labelFields = []wireField{
	labelID:        {"id", bytesField},
	labelClass:     {"class", varintField},
	labelClassName: {"class_name", bytesField},
	labelTime:      {"time", bytesField},
}

// DecodeLabel reads one Protobuf record into l. It writes over all of l, and the strings are new. The error is a
// *[FieldError], after which l holds nothing to rely on.
func (Protobuf) DecodeLabel(data []byte, l *Label) error {
	*l = Label{Class: ByName}
	if len(data) == 0 {
		return fieldErrorf(ReasonUnparsable, "", "the record is empty")
	}
	var hasClass, hasName bool
	err := walk(data, 0, labelFields, func(v wireValue) (err error) {
		switch v.num {
		case labelID:
			l.ID, err = wireID(v, false)
		case labelClass:
			var c int64
			hasClass = true
			c, err = v.integer("class", 0, math.MaxInt32)
			l.Class = int(c)
		case labelClassName:
			var text []byte
			hasName = true
			text, err = v.text("class_name")
			l.ClassName = string(text)
		case labelTime:
			l.Time, err = v.time("time")
		}
		return err
	})
	if err != nil {
		return err
	}
	return l.check(hasClass, hasName)
}

// AppendLabel appends l as one message to dst, fields in the order of their numbers. What [Protobuf.DecodeLabel]
// would refuse is an error, and so is a time outside the years 1 to 9999; dst is then returned as it was.
func (Protobuf) AppendLabel(dst []byte, l *Label) ([]byte, error) {
	w := wireWriter{buf: dst}
	w.fail(l.checkWritten())
	w.id(labelID, "id", l.ID)
	if l.ClassName == "" { // an index of 0 is written, too: its presence says that there is one
		w.tag(labelClass, protowire.VarintType)
		w.varint(uint64(l.Class))
	}
	w.text(labelClassName, "class_name", l.ClassName)
	w.time(labelTime, "time", l.Time)
	if w.err != nil {
		return dst, fmt.Errorf("encoding label of %s: %w", cut(strconv.Quote(l.ID)), w.err)
	}
	return w.buf, nil
}
