package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Where things lie in a record batch of format 2 (KIP-98), which [kmsg.RecordBatch] describes.
const (
	atLength     = 8  // of the bytes that follow it
	atRest       = 12 // where the length begins to count
	atMagic      = 16 // the format
	atCRC        = 17 // over all bytes that follow it
	atAttributes = 21
	atBody       = 61 // the records, packed or not
)

// setSize is the length of the size that stands before the batches of a request.
const setSize = 4

// Bits of a batch's attributes.
const (
	codecBits     = 7
	logAppendTime = 1 << 3
	transactional = 1 << 4
	control       = 1 << 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is a record batch that is being written. It keeps the place of each of its records among the published records.
type Batch struct {
	buf    []byte // room for size and header, then the records, not compressed
	places []int32
	first  int64 // timestamps in milliseconds
	max    int64
	signed signature
}

// signature makes a batch part of a producer's transaction.
type signature struct {
	producer   int64
	epoch      int16
	sequence   int32
	attributes int16
}

var unsigned = signature{producer: -1, epoch: -1, sequence: -1}

// NewBatch returns an empty batch without a producer, in the memory of an earlier one.
func NewBatch(spare Batch) Batch {
	return Batch{buf: append(spare.buf[:0], make([]byte, setSize+atBody)...), places: spare.places[:0], signed: unsigned}
}

// Count returns how many records the batch has.
func (b *Batch) Count() int32 { return int32(len(b.places)) }

// Bytes returns how many bytes the batch has before compression.
func (b *Batch) Bytes() int { return len(b.buf) }

// Place returns the place of the batch's record number among the published records.
func (b *Batch) Place(number int32) int { return int(b.places[number]) }

// Redate gives all records another timestamp. They must have been appended with the same one: their own timestamps are
// written as differences from the first.
func (b *Batch) Redate(at time.Time) { b.first, b.max = at.UnixMilli(), at.UnixMilli() }

// Times returns the first record's timestamp and the latest of all.
func (b *Batch) Times() (first, latest time.Time) {
	return time.UnixMilli(b.first), time.UnixMilli(b.max)
}

// Sign makes the batch part of its producer's transaction, with the sequence number of its first record: brokers take a
// batch only in sequence, and no batch twice.
func (b *Batch) Sign(producer int64, epoch int16, sequence int32) {
	b.signed = signature{producer, epoch, sequence, transactional}
}

// begin writes the start of a record: its length, its timestamp and its number.
func (b *Batch) begin(stamp int64, content int, place int) {
	if len(b.places) == 0 {
		b.first, b.max = stamp, stamp
	}
	b.max = max(b.max, stamp)
	delta, number := stamp-b.first, int64(len(b.places))
	b.buf = binary.AppendVarint(b.buf, int64(1+varintLen(delta)+varintLen(number)+content))
	b.buf = append(b.buf, 0) // attributes, unused
	b.buf = binary.AppendVarint(b.buf, delta)
	b.buf = binary.AppendVarint(b.buf, number)
	b.places = append(b.places, int32(place))
}

// Append adds one record; place is its place among the published records. A nil key or value is null on the wire.
func (b *Batch) Append(key, value []byte, headers []Header, at time.Time, place int) {
	b.begin(at.UnixMilli(), contentLen(key, value, headers), place)
	buf := appendBytes(b.buf, key)
	buf = appendBytes(buf, value)
	buf = binary.AppendVarint(buf, int64(len(headers)))
	for i := range headers {
		buf = binary.AppendVarint(buf, int64(len(headers[i].Key)))
		buf = append(buf, headers[i].Key...)
		buf = appendBytes(buf, headers[i].Value)
	}
	b.buf = buf
}

// Finish compresses the records and fills in the header. The bytes begin with their size, as a request has them. The
// batch itself stays as it is, and may be finished again.
func (b *Batch) Finish(compression kafkago.Compression) ([]byte, error) {
	wire := b.buf
	if compression != 0 {
		codec := compression.Codec()
		if codec == nil {
			return nil, fmt.Errorf("compression %d names no codec", compression)
		}
		packed := bytes.NewBuffer(slices.Clone(b.buf[:setSize+atBody]))
		w := codec.NewWriter(packed)
		if _, err := w.Write(b.buf[setSize+atBody:]); err != nil {
			return nil, fmt.Errorf("compressing %d records: %w", b.Count(), err)
		}
		if err := w.Close(); err != nil {
			return nil, fmt.Errorf("compressing %d records: %w", b.Count(), err)
		}
		wire = packed.Bytes()
	}
	header := kmsg.RecordBatch{Length: int32(len(wire) - setSize - atRest), PartitionLeaderEpoch: -1, Magic: 2,
		Attributes: b.signed.attributes | int16(compression), LastOffsetDelta: b.Count() - 1,
		FirstTimestamp: b.first, MaxTimestamp: b.max, NumRecords: b.Count(),
		ProducerID: b.signed.producer, ProducerEpoch: b.signed.epoch, FirstSequence: b.signed.sequence}
	binary.BigEndian.PutUint32(wire, uint32(len(wire)-setSize))
	header.AppendTo(wire[:setSize]) // in place: the room was made by NewBatch
	binary.BigEndian.PutUint32(wire[setSize+atCRC:], crc32.Checksum(wire[setSize+atAttributes:], castagnoli))
	return wire, nil
}

// contentLen is the length of a record without timestamp and number, which depend on its batch.
func contentLen(key, value []byte, headers []Header) int {
	n := bytesLen(key) + bytesLen(value) + varintLen(int64(len(headers)))
	for i := range headers {
		n += varintLen(int64(len(headers[i].Key))) + len(headers[i].Key) + bytesLen(headers[i].Value)
	}
	return n
}

// recordLen is the most that a record of a content's length can take up in a batch.
func recordLen(content int) int {
	const attributes, stamp, number = 1, binary.MaxVarintLen64, binary.MaxVarintLen32
	body := attributes + stamp + number + content
	return varintLen(int64(body)) + body
}

// Fits reports whether a record can be added to the batch without making it larger than a limit.
func (b *Batch) Fits(r *Record, limit int) bool {
	return len(b.buf)+recordLen(contentLen(r.Key, r.Value, r.Headers)) <= limit
}

// BatchBytes is the size of a record batch that holds only this record, before compression. Brokers compare it with
// the topic's max.message.bytes.
func (r *Record) BatchBytes() int {
	body := 1 + varintLen(0) + varintLen(0) + contentLen(r.Key, r.Value, r.Headers)
	return atBody + varintLen(int64(body)) + body
}

// appendBytes writes a length and the bytes; nil has length -1.
func appendBytes(dst, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(v))), v...)
}

func bytesLen(v []byte) int {
	if v == nil {
		return 1
	}
	return varintLen(int64(len(v))) + len(v)
}

// varintLen is the length of v as a zigzag varint.
func varintLen(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	n := 1
	for u >= 0x80 {
		u >>= 7
		n++
	}
	return n
}
