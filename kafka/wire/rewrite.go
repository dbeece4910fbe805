package wire

import (
	"encoding/binary"
	"slices"
)

// record returns the parts of the record at a position of the batch: its timestamp, its content (the part that does not
// depend on the batch), and where the next record begins.
func (b *Batch) record(at int) (stamp int64, content []byte, next int) {
	length, n := binary.Varint(b.buf[at:])
	next = at + n + int(length)
	body := b.buf[at+n+1 : next] // behind the attributes
	delta, n := binary.Varint(body)
	_, m := binary.Varint(body[n:])
	return b.first + delta, body[n+m:], next
}

// appendContent adds a record that another batch has encoded.
func (b *Batch) appendContent(stamp int64, content []byte, place int32) {
	b.begin(stamp, len(content), int(place))
	b.buf = append(b.buf, content...)
}

// Split returns the batch's records in batches of at most limit bytes, or of one record.
func (b *Batch) Split(limit int) (parts []Batch) {
	at := setSize + atBody
	for k := range b.places {
		stamp, content, next := b.record(at)
		if at = next; k == 0 || len(parts[len(parts)-1].buf)+recordLen(len(content)) > limit {
			parts = append(parts, NewBatch(Batch{}))
		}
		parts[len(parts)-1].appendContent(stamp, content, b.places[k])
	}
	return parts
}

// Without returns the batch without the records of some numbers, or none where no record is left.
func (b *Batch) Without(numbers []int32) []Batch {
	left := NewBatch(Batch{})
	at := setSize + atBody
	for k := range b.places {
		stamp, content, next := b.record(at)
		if at = next; !slices.Contains(numbers, int32(k)) {
			left.appendContent(stamp, content, b.places[k])
		}
	}
	if left.Count() == 0 {
		return nil
	}
	return []Batch{left}
}
