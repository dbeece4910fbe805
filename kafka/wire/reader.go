package wire

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// pieceBytes is the size of the piece of an answer that is unpacked at once: records of at least this size together,
// or the last ones. The rest stays packed until these have been taken.
const pieceBytes = 4 << 20

// errCut is returned for an answer without one whole batch. Brokers do not send such answers.
var errCut = errors.New("the broker's answer holds no whole record batch")

// Reader reads the record batches of a fetch's answer, and unpacks them as they are read. It takes memory for
// pieceBytes and one record, whatever the batches unpack to. A record larger than the limit is given without its value;
// a batch whose records cannot be told apart becomes one record. Both have their [Damage].
type Reader struct {
	at       TopicPartition
	limit    int    // of key and value together, 1 to Largest
	rest     []byte // batches that have not begun
	end      int64  // the log's
	aborted  *abortedTransactions
	whole    bool         // at least one batch was whole
	epochs   []EpochStart // epochs of the batches of the last read, where they change
	header   header       // of the batch under way
	under    *stream      // records of the batch under way, nil between batches
	left     int32        // of them, not read yet
	names    map[string]string
	headroom []Header // memory for the headers of the next records
}

// EpochStart says that the records from an offset on are of a leader's epoch, until the next start.
type EpochStart struct {
	First int64
	Epoch int32
}

// NewReader returns a reader of a broker's answer for a partition. limit is the largest record that is read, key and
// value together, at most [Largest]. names holds the names of headers, which records of the partition share.
func NewReader(at TopicPartition, answer *kmsg.FetchResponseTopicPartition, limit int,
	names map[string]string) *Reader {
	return &Reader{at: at, limit: limit, rest: answer.RecordBatches, end: answer.HighWatermark,
		aborted: newAborted(answer.AbortedTransactions), names: names}
}

// Done reports whether nothing is left. Nothing is left of a nil reader.
func (b *Reader) Done() bool { return b == nil || b.under == nil && len(b.rest) == 0 }

// Epochs returns the epochs of the batches that the last Read has met, where they change.
func (b *Reader) Epochs() []EpochStart { return b.epochs }

// Read returns the records from an offset on that make up the next piece, maybe none, and the offset to read after
// them.
func (b *Reader) Read(next int64) (records []Record, after int64, err error) {
	b.epochs = b.epochs[:0]
	for size := 0; size < pieceBytes && !b.Done(); {
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
		if b.left == 0 {
			b.finish()
			next = max(next, b.header.last()+1)
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
		b.left--
		if rec.Position.Offset >= next { // a compressed batch begins before the offset that was asked for
			records = append(records, rec)
			next, size = rec.Position.Offset+1, size+length
		}
	}
	return records, next, nil
}

// header is a batch's header.
type header struct{ kmsg.RecordBatch }

func readHeader(data []byte) (h header) {
	_ = h.ReadFrom(data) // at least atBody bytes, enough for it
	h.Records = nil
	return h
}

// codec is the compression of the records, 0 for none.
func (h *header) codec() int16 { return h.Attributes & codecBits }

// last is the offset of the last record, where there is any.
func (h *header) last() int64 { return h.FirstOffset + int64(h.LastOffsetDelta) }

// Bounds of the number of records that room takes from a batch's header.
const (
	roomAhead   = 1024 // records of the batch under way
	roomPerByte = 32   // bytes of a batch for each of its records
)

// room returns for how many records to take memory: as many as the headers of the batches that fill a piece say, as
// far as their bytes can hold them. A packed batch ends the estimate, as nobody knows how many pieces it is.
func (b *Reader) room() int {
	n, size := min(int(b.left), roomAhead), 0
	if b.header.codec() != 0 {
		return n
	}
	for rest := b.rest; size < pieceBytes && len(rest) > atBody && rest[atMagic] == 2; {
		length := int64(binary.BigEndian.Uint32(rest[atLength:])) + atRest
		if length < atBody || length > int64(len(rest)) {
			break
		}
		h := readHeader(rest[:length])
		if h.codec() != 0 {
			break
		}
		n += max(0, min(int(h.NumRecords), int(length)/roomPerByte))
		size += int(length)
		rest = rest[length:]
	}
	return n
}

// finish ends the batch under way.
func (b *Reader) finish() {
	b.under.close()
	b.under, b.left = nil, 0
}

// begin begins the next batch, or passes over it and moves next behind it. A batch that cannot be
// read is one record.
func (b *Reader) begin(next *int64) (damage *Record, err error) {
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
	if magic < 2 { // a message, or a set of messages with the offset of the last one
		b.header = header{}
		b.header.FirstOffset = int64(get.Uint64(data))
		return b.pass(next, fmt.Errorf("message format %d, of before Kafka 0.11, is not read", magic))
	}
	b.header = readHeader(data)
	if err := b.verify(data, *next); err != nil {
		return b.pass(next, err)
	}
	h := &b.header
	if e := h.PartitionLeaderEpoch; e >= 0 && (len(b.epochs) == 0 || b.epochs[len(b.epochs)-1].Epoch != e) {
		b.epochs = append(b.epochs, EpochStart{h.FirstOffset, e})
	}
	if b.aborted.skip(h) || h.last() < *next {
		*next = max(*next, h.last()+1)
		return nil, nil
	}
	under, err := newStream(h.codec(), data[atBody:])
	if err != nil {
		return b.pass(next, err)
	}
	b.under, b.left = under, h.NumRecords
	return nil, nil
}

// verify returns why a batch cannot be read. Where its header is broken, the end of its offsets is found otherwise.
func (b *Reader) verify(data []byte, next int64) error {
	h := &b.header
	sum, stored := crc32.Checksum(data[atAttributes:], castagnoli), uint32(h.CRC)
	switch {
	case stored != sum:
		b.distrust(next)
		return fmt.Errorf("their checksum is %08x, the batch says %08x", sum, stored)
	case data[atMagic] > 2:
		return fmt.Errorf("message format %d is unknown", data[atMagic])
	case h.NumRecords < 0 || h.LastOffsetDelta < 0:
		first, last := h.FirstOffset, h.last()
		b.distrust(next)
		return fmt.Errorf("their batch has %d records with offsets from %d to %d", h.NumRecords, first, last)
	}
	return nil
}

// pass passes over a batch that cannot be read, and returns the record that stands for it.
func (b *Reader) pass(next *int64, why error) (*Record, error) {
	rec, after := b.damaged(*next, why)
	if *next = after; rec.Damage == nil {
		return nil, nil
	}
	return &rec, nil
}

// cut drops the rest of an answer: brokers cut off its last batch.
func (b *Reader) cut() error {
	b.rest = nil
	if !b.whole {
		return errCut
	}
	return nil
}

// distrust finds out where a batch ends whose header is broken: where the next one begins, or else as it says, but
// not beyond the log.
func (b *Reader) distrust(next int64) {
	last := max(next, min(b.header.last(), b.end-1))
	if len(b.rest) >= atLength {
		last = int64(binary.BigEndian.Uint64(b.rest)) - 1
	}
	b.header.MaxTimestamp, b.header.FirstOffset, b.header.LastOffsetDelta = 0, last, 0
}

// damaged returns one record in the place of the records from an offset to the end of the batch, and the offset after
// them. It has no Damage if all have been read.
func (b *Reader) damaged(next int64, why error) (Record, int64) {
	last := b.header.last()
	if last < next {
		return Record{}, next
	}
	detail := fmt.Sprintf("the records at offsets %d to %d cannot be read: %v", next, last, why)
	return Record{Position: Position{Topic: b.at.Topic, Partition: b.at.Partition, Offset: next},
		Time:   time.UnixMilli(b.header.MaxTimestamp),
		Damage: &Damage{Last: last, TooLarge: errors.Is(why, errEndless), Detail: detail}}, last + 1
}

// longPrefix is the number of bytes of a record above the limit that are looked at, for its key.
const longPrefix = 64 << 10

var errRecord = errors.New("a record is not as Kafka writes it")

// record reads one record, and returns the memory that it takes.
func (b *Reader) record() (rec Record, size int, err error) {
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

// large looks at the beginning of a record that is longer than the limit. It fits if its key and value take no more
// than the limit and the whole record no more than Largest; otherwise large skips it and returns the record without its
// value.
func (b *Reader) large(length int64) (rec Record, fits bool, err error) {
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
	case length > Largest:
		err = fmt.Errorf("the record has %d bytes, at most %d are read", length, Largest)
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

// headerMemory is the memory of a [Header] beside its bytes.
const headerMemory = 40

// headersAhead is the number of headers for which memory is taken at once.
const headersAhead = 128

// headers reads the headers of a record. Equal names share their memory.
func (b *Reader) headers(f *fields) []Header {
	n := f.varint()
	if n <= 0 || n > int64(len(f.data)) {
		f.broken = f.broken || n != 0
		return nil
	}
	if n > int64(len(b.headroom)) {
		b.headroom = make([]Header, max(n, headersAhead))
	}
	out := b.headroom[:n:n]
	b.headroom = b.headroom[n:]
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

// fields are the fields of a record that are not read yet. Once broken, they are all empty.
type fields struct {
	data   []byte
	broken bool
	record Record // the part that begin has read
}

// begin reads the fields before the key, and returns the lengths of key and value, -1 for null. The key's bytes come
// next.
func (f *fields) begin(b *Reader) (key, value int64) {
	f.broken = len(f.data) == 0
	if f.broken {
		return 0, 0
	}
	f.data = f.data[1:] // attributes, unused
	h := &b.header
	stamp, offset := h.FirstTimestamp+f.varint(), h.FirstOffset+f.varint()
	if h.Attributes&logAppendTime != 0 {
		stamp = h.MaxTimestamp
	}
	if offset < h.FirstOffset || offset > h.last() {
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

// abortedTransactions knows which transactions of an answer were aborted.
type abortedTransactions struct {
	ahead []kmsg.FetchResponseTopicPartitionAbortedTransaction // by first offset, not yet reached
	open  map[int64]bool                                       // producers whose aborted transaction is under way
}

func newAborted(list []kmsg.FetchResponseTopicPartitionAbortedTransaction) *abortedTransactions {
	slices.SortFunc(list, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		return cmp.Compare(a.FirstOffset, b.FirstOffset)
	})
	return &abortedTransactions{ahead: list, open: make(map[int64]bool)}
}

// skip reports whether a batch is passed over: control batches, and batches of aborted transactions. Batches come in
// the order of their offsets.
func (a *abortedTransactions) skip(h *header) bool {
	a.reach(h.FirstOffset)
	if h.Attributes&control != 0 {
		delete(a.open, h.ProducerID) // commit or abort, the producer's transaction is over
		return true
	}
	return h.Attributes&transactional != 0 && a.open[h.ProducerID]
}

// reach opens the aborted transactions that begin at or before offset. Control batches call it too: if the answer has
// only the end of a transaction, it must not stay open for the producer's next one.
func (a *abortedTransactions) reach(offset int64) {
	for len(a.ahead) > 0 && a.ahead[0].FirstOffset <= offset {
		a.open[a.ahead[0].ProducerID] = true
		a.ahead = a.ahead[1:]
	}
}
