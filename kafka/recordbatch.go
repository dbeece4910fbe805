package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// Layout of a record set of one v2 batch (KIP-98), with its 4-byte size before it. Lengths and the checksum
// are filled in at the end.
const (
	offsetSize            = 0
	offsetBatchLength     = 4 + 8
	offsetLeaderEpoch     = 4 + 12
	offsetMagic           = 4 + 16
	offsetCRC             = 4 + 17
	offsetAttributes      = 4 + 21
	offsetLastOffsetDelta = 4 + 23
	offsetFirstTimestamp  = 4 + 27
	offsetMaxTimestamp    = 4 + 35
	offsetProducerID      = 4 + 43
	offsetProducerEpoch   = 4 + 51
	offsetBaseSequence    = 4 + 53
	offsetCount           = 4 + 57
	headerBytes           = 4 + 61
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// transactional is the bit of the attributes that says so; the lower three are the compression.
const transactional = 1 << 4

// recordBatch is a record batch being written.
type recordBatch struct {
	buf        []byte  // the header's place and the records, not compressed
	places     []int32 // of the records in their shipment
	count      int32
	first, max int64 // timestamps in milliseconds
	attributes uint16
	stamped    stamping
}

// newRecordBatch returns an empty batch without a producer id, in the memory of buf.
func newRecordBatch(buf []byte) recordBatch {
	b := recordBatch{buf: append(buf[:0], make([]byte, headerBytes)...)}
	put := binary.BigEndian
	put.PutUint32(b.buf[offsetLeaderEpoch:], ^uint32(0))
	b.buf[offsetMagic] = 2
	put.PutUint64(b.buf[offsetProducerID:], ^uint64(0))
	put.PutUint16(b.buf[offsetProducerEpoch:], ^uint16(0))
	put.PutUint32(b.buf[offsetBaseSequence:], ^uint32(0))
	return b
}

// sign makes the batch part of its producer's transaction. The sequence is that of its first record: brokers take
// what follows on what they have, and no batch twice.
func (b *recordBatch) sign(producer int64, epoch int16, sequence int32) {
	put := binary.BigEndian
	put.PutUint64(b.buf[offsetProducerID:], uint64(producer))
	put.PutUint16(b.buf[offsetProducerEpoch:], uint16(epoch))
	put.PutUint32(b.buf[offsetBaseSequence:], uint32(sequence))
	b.attributes |= transactional
}

// begin notes the timestamp of a record that is about to be added.
func (b *recordBatch) begin(stamp int64) {
	if b.count == 0 {
		b.first, b.max = stamp, stamp
	}
	b.max = max(b.max, stamp)
}

// append adds one record. A nil key or value is null on the wire.
func (b *recordBatch) append(key, value []byte, headers []Header, at time.Time) {
	stamp := at.UnixMilli()
	b.begin(stamp)
	length := 1 + varintLen(stamp-b.first) + varintLen(int64(b.count)) + contentLen(key, value, headers)
	buf := binary.AppendVarint(b.buf, int64(length))
	buf = append(buf, 0) // attributes, unused
	buf = binary.AppendVarint(buf, stamp-b.first)
	buf = binary.AppendVarint(buf, int64(b.count))
	buf = appendBytes(buf, key)
	buf = appendBytes(buf, value)
	buf = binary.AppendVarint(buf, int64(len(headers)))
	for i := range headers {
		buf = binary.AppendVarint(buf, int64(len(headers[i].Key)))
		buf = append(buf, headers[i].Key...)
		buf = appendBytes(buf, headers[i].Value)
	}
	b.buf = buf
	b.count++
}

// finish compresses the records and fills in the header. The bytes begin with their 4-byte size. The batch itself is
// not compressed by it.
func (b *recordBatch) finish(compression kafkago.Compression) ([]byte, error) {
	wire := b.buf
	if compression != 0 {
		codec := compression.Codec()
		if codec == nil {
			return nil, fmt.Errorf("compression %d names no codec", compression)
		}
		packed := bytes.NewBuffer(slices.Clone(b.buf[:headerBytes]))
		w := codec.NewWriter(packed)
		if _, err := w.Write(b.buf[headerBytes:]); err != nil {
			return nil, fmt.Errorf("compressing %d records: %w", b.count, err)
		}
		if err := w.Close(); err != nil {
			return nil, fmt.Errorf("compressing %d records: %w", b.count, err)
		}
		wire = packed.Bytes()
	}
	put := binary.BigEndian
	put.PutUint32(wire[offsetSize:], uint32(len(wire)-4))
	put.PutUint32(wire[offsetBatchLength:], uint32(len(wire)-offsetLeaderEpoch))
	put.PutUint16(wire[offsetAttributes:], b.attributes|uint16(compression))
	put.PutUint32(wire[offsetLastOffsetDelta:], uint32(b.count-1))
	put.PutUint64(wire[offsetFirstTimestamp:], uint64(b.first))
	put.PutUint64(wire[offsetMaxTimestamp:], uint64(b.max))
	put.PutUint32(wire[offsetCount:], uint32(b.count))
	put.PutUint32(wire[offsetCRC:], crc32.Checksum(wire[offsetAttributes:], castagnoli))
	return wire, nil
}

// contentLen is the length of what a record is made of, without what is counted from the beginning of its batch.
func contentLen(key, value []byte, headers []Header) int {
	n := bytesLen(key) + bytesLen(value) + varintLen(int64(len(headers)))
	for i := range headers {
		n += varintLen(int64(len(headers[i].Key))) + len(headers[i].Key) + bytesLen(headers[i].Value)
	}
	return n
}

// recordLen is the most that a record of a content's length can take up in a batch.
func recordLen(content int) int {
	const attributes, stamp, place = 1, binary.MaxVarintLen64, binary.MaxVarintLen32
	body := attributes + stamp + place + content
	return varintLen(int64(body)) + body
}

// BatchBytes is the size of a record batch that holds only this record, before compression, as brokers hold it
// against the topic's max.message.bytes.
func (r *Record) BatchBytes() int {
	body := 1 + varintLen(0) + varintLen(0) + contentLen(r.Key, r.Value, r.Headers)
	return headerBytes - 4 + varintLen(int64(body)) + body
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
