package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// Bits of a batch's attributes; transactional is in recordbatch.go.
const (
	codecBits     = 7
	logAppendTime = 1 << 3
	control       = 1 << 5
)

// pieceBytes is how much of an answer is unpacked at once: records of at least this size together, or the last ones.
// What follows stays packed until the records before it have been taken.
const pieceBytes = 4 << 20

// errCut is returned for an answer without one whole batch. Brokers do not give such.
var errCut = errors.New("the broker's answer holds no whole record batch")

// batches are the record batches of a fetch's answer, which are unpacked as they are read. Memory is taken for
// pieceBytes and one record, whatever they unpack to; a record larger than the limit, or a batch whose records
// cannot be told apart, is one record with its [Damage].
type batches struct {
	at    TopicPartition
	limit int    // of a record's key and value together, 1 to inHand
	rest  []byte // batches that have not begun
	end   int64  // the log's
	open  *aborted
	whole bool   // at least one batch was whole
	seen  epochs // of the batches of the last read, where they change

	header header
	under  *stream // of the batch under way, nil between batches
	count  int32   // its records that are not read yet
	names  map[string]string
	spare  []Header // memory for headers of the next records
}

// header is that of a batch under way. Its records have offsets from first to last, where there are any.
type header struct {
	first, last int64
	epoch       int32
	attributes  int16
	begin, max  int64 // timestamps in ms
	producer    int64
	count       int32
}

// done reports whether nothing is left.
func (b *batches) done() bool { return b == nil || b.under == nil && len(b.rest) == 0 }

// read returns the records from an offset on that make up the next piece, maybe none, and the offset to read after
// them.
func (b *batches) read(next int64) (records []Record, after int64, err error) {
	b.seen = b.seen[:0]
	for size := 0; size < pieceBytes && !b.done(); {
		if b.under == nil {
			damage, err := b.begin(&next)
			if err != nil {
				return records, next, err
			}
			if damage != nil {
				records = append(records, *damage)
			}
			continue
		}
		if b.count == 0 {
			b.finish()
			next = max(next, b.header.last+1)
			continue
		}
		if records == nil {
			records = make([]Record, 0, b.room())
		}
		rec, length, err := b.record()
		if err != nil {
			b.finish()
			if rec, next = b.damaged(next, err); rec.Damage != nil {
				records = append(records, rec)
			}
			continue
		}
		b.count--
		if rec.Position.Offset >= next { // a compressed batch begins before the offset that was asked for
			records = append(records, rec)
			next, size = rec.Position.Offset+1, size+length
		}
	}
	return records, next, nil
}

// Bounds of the number of records that room takes from a batch's header.
const (
	roomAhead   = 1024 // records of the batch under way
	roomPerByte = 32   // bytes of a batch for each of its records
)

// room returns for how many records to take memory: as many as the headers of the batches that fill a piece say, as
// far as their bytes can hold them. A packed batch ends the estimate, as nobody knows how many pieces it is.
func (b *batches) room() int {
	n, size := min(int(b.count), roomAhead), 0
	if b.header.attributes&codecBits != 0 {
		return n
	}
	for rest := b.rest; size < pieceBytes && len(rest) > atBody && rest[atMagic] == 2; {
		length := int64(binary.BigEndian.Uint32(rest[atLength:])) + atRest
		if length < atBody || length > int64(len(rest)) {
			break
		}
		h := readHeader(rest[:length])
		if h.attributes&codecBits != 0 {
			break
		}
		n += max(0, min(int(h.count), int(length)/roomPerByte))
		size += int(length)
		rest = rest[length:]
	}
	return n
}

// finish ends the batch under way.
func (b *batches) finish() {
	b.under.close()
	b.under, b.count = nil, 0
}

// Places in a batch, from its beginning; recordbatch.go counts the size before it too.
const (
	atLength = 8
	atMagic  = 16
	atRest   = 12 // which the length counts
	atCRC    = offsetCRC - 4
	atBody   = headerBytes - 4
)

// begin begins the next batch, or passes over it and moves next behind it. A batch that cannot be
// read is one record.
func (b *batches) begin(next *int64) (damage *Record, err error) {
	if len(b.rest) <= atMagic {
		return nil, b.cut()
	}
	get := binary.BigEndian
	length := int64(get.Uint32(b.rest[atLength:])) + atRest
	magic := b.rest[atMagic]
	if length <= atMagic || length > int64(len(b.rest)) || magic >= 2 && length < atBody {
		return nil, b.cut()
	}
	data := b.rest[:length]
	b.rest, b.whole = b.rest[length:], true
	if magic < 2 { // one message, or several in one whose offset is that of the last
		b.header = header{last: int64(get.Uint64(data))}
		return b.pass(next, fmt.Errorf("message format %d, of before Kafka 0.11, is not read", magic))
	}
	b.header = readHeader(data)
	if err := b.verify(data, *next); err != nil {
		return b.pass(next, err)
	}
	if e := b.header.epoch; e >= 0 && (len(b.seen) == 0 || b.seen[len(b.seen)-1].epoch != e) {
		b.seen = append(b.seen, epochStart{b.header.first, e})
	}
	if b.open.skip(b.header) || b.header.last < *next {
		*next = max(*next, b.header.last+1)
		return nil, nil
	}
	under, err := newStream(b.header.attributes&codecBits, data[atBody:])
	if err != nil {
		return b.pass(next, err)
	}
	b.under, b.count = under, b.header.count
	return nil, nil
}

// verify returns why a batch cannot be read. Where its header is broken, the end of its offsets is found otherwise.
func (b *batches) verify(data []byte, next int64) error {
	h := &b.header
	sum, stored := crc32.Checksum(data[offsetAttributes-4:], castagnoli), binary.BigEndian.Uint32(data[atCRC:])
	switch {
	case stored != sum:
		b.distrust(next)
		return fmt.Errorf("their checksum is %08x, the batch says %08x", sum, stored)
	case data[atMagic] > 2:
		return fmt.Errorf("message format %d is unknown", data[atMagic])
	case h.count < 0 || h.last < h.first:
		first, last := h.first, h.last
		b.distrust(next)
		return fmt.Errorf("their batch has %d records with offsets from %d to %d", h.count, first, last)
	}
	return nil
}

// pass passes over a batch that cannot be read, and returns the record that stands for it.
func (b *batches) pass(next *int64, why error) (*Record, error) {
	rec, after := b.damaged(*next, why)
	if *next = after; rec.Damage == nil {
		return nil, nil
	}
	return &rec, nil
}

func readHeader(data []byte) header {
	get := binary.BigEndian
	h := header{
		first:      int64(get.Uint64(data)),
		epoch:      int32(get.Uint32(data[offsetLeaderEpoch-4:])),
		attributes: int16(get.Uint16(data[offsetAttributes-4:])),
		begin:      int64(get.Uint64(data[offsetFirstTimestamp-4:])),
		max:        int64(get.Uint64(data[offsetMaxTimestamp-4:])),
		producer:   int64(get.Uint64(data[offsetProducerID-4:])),
		count:      int32(get.Uint32(data[offsetCount-4:])),
	}
	h.last = h.first + int64(int32(get.Uint32(data[offsetLastOffsetDelta-4:])))
	return h
}

// cut drops what is left of an answer: brokers cut its last batch off.
func (b *batches) cut() error {
	b.rest = nil
	if !b.whole {
		return errCut
	}
	return nil
}

// distrust finds out where a batch ends whose header is broken: where the next one begins, or else as it says, but
// not beyond the log.
func (b *batches) distrust(next int64) {
	b.header.max = 0
	if len(b.rest) >= atLength {
		b.header.last = int64(binary.BigEndian.Uint64(b.rest)) - 1
		return
	}
	b.header.last = max(next, min(b.header.last, b.end-1))
}

// damaged returns the record that stands for those from an offset to the end of the batch, and the offset after
// them. It has no Damage where all have been read.
func (b *batches) damaged(next int64, why error) (Record, int64) {
	last := b.header.last
	if last < next {
		return Record{}, next
	}
	detail := fmt.Sprintf("the records at offsets %d to %d cannot be read: %v", next, last, why)
	return Record{Position: Position{Topic: b.at.Topic, Partition: b.at.Partition, Offset: next},
		Time:   time.UnixMilli(b.header.max),
		Damage: &Damage{Last: last, TooLarge: errors.Is(why, errEndless), Detail: detail}}, last + 1
}

// longPrefix is how much of a record that is larger than the limit is looked at, for its key.
const longPrefix = 64 << 10

var errRecord = errors.New("a record is not as Kafka writes it")

// record reads one record, and returns the memory that it takes.
func (b *batches) record() (rec Record, size int, err error) {
	length, err := b.under.varint()
	if err != nil {
		return rec, 0, err
	}
	if length < 0 {
		return rec, 0, errRecord
	}
	if length > int64(b.limit) {
		if rec, fits, err := b.large(length); err != nil || !fits {
			return rec, len(rec.Key), err
		}
	}
	data, err := b.under.take(int(length))
	if err != nil {
		return rec, 0, err
	}
	f := fields{data: data}
	key, _ := f.begin(b)
	rec = f.record
	rec.Key, rec.Value = f.bytes(key), f.bytes(f.varint())
	rec.Headers = b.headers(&f)
	if f.broken {
		return rec, 0, errRecord
	}
	return rec, len(data) + len(rec.Headers)*headerMemory, nil
}

// large looks at the beginning of a record that is longer than the limit. It fits if its key and value do
// not take more than the limit and all of it not more than inHand; otherwise large passes over it and
// returns one without a value.
func (b *batches) large(length int64) (rec Record, fits bool, err error) {
	prefix, err := b.under.peek(int(min(length, longPrefix)))
	if err != nil {
		return rec, false, err
	}
	f := fields{data: prefix}
	key, value := f.begin(b)
	if f.broken {
		return rec, false, errRecord
	}
	switch {
	case key > int64(len(f.data)):
		err = fmt.Errorf("the record has %d bytes, %d of them its key", length, key)
	case max(key, 0)+max(value, 0) > int64(b.limit):
		err = fmt.Errorf("key and value have %d bytes, at most %d are read", max(key, 0)+max(value, 0), b.limit)
	case length > inHand:
		err = fmt.Errorf("the record has %d bytes, at most %d are read", length, inHand)
	default:
		return rec, true, nil
	}
	rec = f.record
	if key >= 0 && key <= int64(len(f.data)) {
		rec.Key = append([]byte{}, f.data[:key]...)
	}
	rec.Damage = &Damage{Last: rec.Position.Offset, TooLarge: true, Detail: err.Error()}
	return rec, false, b.under.discard(length)
}

// headerMemory is what a [Header] takes beside its bytes.
const headerMemory = 40

// headersAhead is for how many headers memory is taken at once.
const headersAhead = 128

// headers reads the headers of a record. Equal names share their memory.
func (b *batches) headers(f *fields) []Header {
	n := f.varint()
	if n <= 0 || n > int64(len(f.data)) {
		f.broken = f.broken || n != 0
		return nil
	}
	if n > int64(len(b.spare)) {
		b.spare = make([]Header, max(n, headersAhead))
	}
	out := b.spare[:n:n]
	b.spare = b.spare[n:]
	for i := range out {
		name := f.bytes(f.varint())
		known, ok := b.names[string(name)]
		if !ok {
			if known = string(name); len(b.names) < 64 {
				b.names[known] = known
			}
		}
		out[i] = Header{Key: known, Value: f.bytes(f.varint())}
	}
	return out
}

// fields are those of a record that are not read yet. Once they are broken they give nothing.
type fields struct {
	data   []byte
	broken bool
	record Record // what begin has read
}

// begin reads what is before the key, and returns the lengths of key and value, -1 for null. It leaves
// the key's bytes to be read.
func (f *fields) begin(b *batches) (key, value int64) {
	f.broken = len(f.data) == 0
	if f.broken {
		return 0, 0
	}
	f.data = f.data[1:] // attributes, unused
	stamp, offset := b.header.begin+f.varint(), b.header.first+f.varint()
	if b.header.attributes&logAppendTime != 0 {
		stamp = b.header.max
	}
	if offset < b.header.first || offset > b.header.last {
		f.broken = true
	}
	f.record = Record{Time: time.UnixMilli(stamp), Position: Position{Topic: b.at.Topic, Partition: b.at.Partition,
		Offset: offset}}
	key = f.varint()
	if at := max(key, 0); at <= int64(len(f.data)) {
		behind := fields{data: f.data[at:]}
		value = behind.varint()
	}
	return key, value
}

func (f *fields) varint() int64 {
	v, n := binary.Varint(f.data)
	if n <= 0 {
		f.broken = true
		f.data = nil
		return 0
	}
	f.data = f.data[n:]
	return v
}

// bytes returns n bytes, nil for -1.
func (f *fields) bytes(n int64) []byte {
	if n == -1 {
		return nil
	}
	if n < 0 || n > int64(len(f.data)) {
		f.broken = true
		f.data = nil
		return nil
	}
	out := f.data[:n:n]
	f.data = f.data[n:]
	return out
}
