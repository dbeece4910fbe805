package stage

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Record is the unit that stages read and write.
type Record struct {
	// Key brings records together: in most tables it is the number of a block of nodes.
	Key int64
	// Tag is the number of the input, among those of the stage that reads it. The engine sets it.
	Tag int32
	// Order sorts the records of one key and tag, as unsigned bytes. Records of one order come in any order, and
	// no result depends on which.
	Order   []byte
	Payload []byte
}

// Compare orders records by key, tag and order.
func Compare(a, b Record) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Tag, b.Tag), slices.Compare(a.Order, b.Order))
}

// Records gives records one after the other; io.EOF after the last. A record may be kept.
type Records interface {
	Next() (Record, error)
}

// Output takes the records that a stage writes, each to one of its outputs. It keeps the record's memory.
type Output interface {
	Emit(output int, r Record) error
}

// List are records in memory.
type List struct{ left []Record }

// NewList returns the records of a list in its order.
func NewList(records []Record) *List { return &List{records} }

// Next implements [Records].
func (l *List) Next() (Record, error) {
	if len(l.left) == 0 {
		return Record{}, io.EOF
	}
	r := l.left[0]
	l.left = l.left[1:]
	return r, nil
}

// Each calls use for each record.
func Each(in Records, use func(r Record) error) error {
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = use(r)
		}
		if err != nil {
			return err
		}
	}
}

// Divide returns the records of input 0, and the others.
func Divide(in Records) (first []Record, rest *List, err error) {
	var others []Record
	err = Each(in, func(r Record) error {
		if r.Tag == 0 {
			first = append(first, r)
		} else {
			others = append(others, r)
		}
		return nil
	})
	return first, NewList(others), err
}

// Payloads returns the payloads of a key's records by tag, of tables with at most one record a key.
func Payloads(in Records, tags int) ([][]byte, error) {
	out := make([][]byte, tags)
	return out, Each(in, func(r Record) error {
		if int(r.Tag) >= tags || out[r.Tag] != nil {
			return fmt.Errorf("input %d has a record too many", r.Tag)
		}
		out[r.Tag] = r.Payload
		return nil
	})
}

// OrderOf returns a number as a record's order.
func OrderOf(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// FromOrder returns the number of an order.
func FromOrder(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

// maxField bounds order and payload of a record on the wire, so that a broken length is no huge allocation.
const maxField = 1 << 31

// AppendRecord appends the wire form of a record: key (8 bytes, little endian, as all numbers here), tag (4),
// the lengths of order and payload (4 each), order, payload. Local files have it, and a worker may.
func AppendRecord(dst []byte, r Record) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Key))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(r.Tag))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Order)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Payload)))
	return append(append(dst, r.Order...), r.Payload...)
}

// ReadRecord reads the wire form; io.EOF where there is none, io.ErrUnexpectedEOF where it is cut.
func ReadRecord(r *bufio.Reader) (Record, error) {
	var head [20]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Record{}, err
	}
	order, payload := binary.LittleEndian.Uint32(head[12:]), binary.LittleEndian.Uint32(head[16:])
	if order > maxField || payload > maxField {
		return Record{}, fmt.Errorf("record with an order of %d and a payload of %d bytes, want at most %d", order,
			payload, uint32(maxField))
	}
	out := Record{Key: int64(binary.LittleEndian.Uint64(head[:])), Tag: int32(binary.LittleEndian.Uint32(head[8:]))}
	both := make([]byte, int(order)+int(payload))
	if _, err := io.ReadFull(r, both); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Record{}, err
	}
	out.Order, out.Payload = both[:order:order], both[order:]
	return out, nil
}
