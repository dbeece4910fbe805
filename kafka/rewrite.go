package kafka

import (
	"encoding/binary"
	"slices"
)

// record takes apart the record that begins at a position of the batch: its timestamp, its content, and
// where the next one begins.
func (b *recordBatch) record(at int) (stamp int64, content []byte, next int) {
	length, n := binary.Varint(b.buf[at:])
	next = at + n + int(length)
	body := b.buf[at+n+1 : next] // behind the attributes
	delta, n := binary.Varint(body)
	_, m := binary.Varint(body[n:])
	return b.first + delta, body[n+m:], next
}

// appendContent adds a record that another batch has encoded.
func (b *recordBatch) appendContent(stamp int64, content []byte, place int32) {
	b.begin(stamp)
	length := 1 + varintLen(stamp-b.first) + varintLen(int64(b.count)) + len(content)
	b.buf = binary.AppendVarint(b.buf, int64(length))
	b.buf = append(b.buf, 0)
	b.buf = binary.AppendVarint(b.buf, stamp-b.first)
	b.buf = binary.AppendVarint(b.buf, int64(b.count))
	b.buf = append(b.buf, content...)
	b.places = append(b.places, place)
	b.count++
}

// split returns the batch's records in batches of at most limit bytes, or of one record.
func (b *recordBatch) split(limit int) (parts []recordBatch) {
	at := headerBytes
	for k := range b.count {
		stamp, content, next := b.record(at)
		if at = next; k == 0 || len(parts[len(parts)-1].buf)+recordLen(len(content)) > limit {
			parts = append(parts, newRecordBatch(nil))
			parts[len(parts)-1].stamped = b.stamped
		}
		parts[len(parts)-1].appendContent(stamp, content, b.places[k])
	}
	return parts
}

// without returns the batch without the records of some numbers; none where nothing is left.
func (b *recordBatch) without(numbers []int32) []recordBatch {
	left := newRecordBatch(nil)
	left.stamped = b.stamped
	at := headerBytes
	for k := range b.count {
		stamp, content, next := b.record(at)
		if at = next; !slices.Contains(numbers, k) {
			left.appendContent(stamp, content, b.places[k])
		}
	}
	if left.count == 0 {
		return nil
	}
	return []recordBatch{left}
}

// stamping says where the timestamps of a batch come from.
type stamping int

const (
	asGiven   stamping = iota
	asAllowed          // those that the topic does not take were replaced
	timeless           // there are none
)

// restamp returns the batch with timestamps that the span allows; where that is nil, without any.
func (b *recordBatch) restamp(allowed *span, now int64) recordBatch {
	fresh := newRecordBatch(nil)
	fresh.stamped = timeless
	at := headerBytes
	for k := range b.count {
		stamp, content, next := b.record(at)
		at = next
		if allowed == nil {
			stamp = noTimestamp
		} else {
			stamp, fresh.stamped = allowed.fit(stamp, now), asAllowed
		}
		fresh.appendContent(stamp, content, b.places[k])
	}
	return fresh
}
