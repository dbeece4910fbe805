package consumer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/segmentio/kafka-go/protocol"

	"rivulet/event"
)

// stableOffsets is OffsetFetch, version 7 (Kafka 2.5), asking for stable offsets (KIP-447): while a transaction that
// commits offsets for a partition is not over, the broker says UNSTABLE_OFFSET_COMMIT instead of the offset before it. A
// reader that began there would read again what the transaction is about to commit.
//
// kafka-go ends at version 5 and has no such question. Its transport finds the group's coordinator, keeps the connection,
// and lets the message itself write and read the bytes.
type stableOffsets struct {
	group      string
	partitions map[string][]int
}

type stableAnswer struct {
	code       int16
	partitions map[event.TopicPartition]stableOffset
}

type stableOffset struct {
	offset int64 // -1 where nothing was committed
	code   int16
}

const stableVersion = 7

// maxAnswer bounds what a broker may say in bytes; 100,000 partitions with long names take a tenth.
const maxAnswer = 64 << 20

// ApiKey says which request it is.
func (*stableOffsets) ApiKey() protocol.ApiKey { return protocol.OffsetFetch }

// ApiKey says which request was answered.
func (*stableAnswer) ApiKey() protocol.ApiKey { return protocol.OffsetFetch }

// Group makes the transport ask the group's coordinator.
func (s *stableOffsets) Group() string { return s.group }

// Required makes the transport leave the bytes to RawExchange.
func (*stableOffsets) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange sends the request over a connection and reads the answer.
func (s *stableOffsets) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if _, err := rw.Write(s.encode()); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(rw, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxAnswer {
		return nil, fmt.Errorf("the answer to OffsetFetch has %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(rw, body); err != nil {
		return nil, err
	}
	return decodeStable(body)
}

// encode writes the request with its size and header (version 2: with tags). The client id is left to the connection's
// other requests.
func (s *stableOffsets) encode() []byte {
	b := make([]byte, 4, 256)
	put := binary.BigEndian
	b = put.AppendUint16(b, uint16(protocol.OffsetFetch))
	b = put.AppendUint16(b, stableVersion)
	b = put.AppendUint32(b, 0)          // correlation id: a connection has one request at a time
	b = put.AppendUint16(b, ^uint16(0)) // no client id
	b = append(b, 0)                    // no tags
	b = appendCompact(b, s.group)
	b = binary.AppendUvarint(b, uint64(len(s.partitions))+1)
	for _, topic := range slices.Sorted(maps.Keys(s.partitions)) {
		ids := s.partitions[topic]
		b = appendCompact(b, topic)
		b = binary.AppendUvarint(b, uint64(len(ids))+1)
		for _, id := range ids {
			b = put.AppendUint32(b, uint32(id))
		}
		b = append(b, 0)
	}
	b = append(b, 1, 0) // require stable; no tags
	put.PutUint32(b, uint32(len(b)-4))
	return b
}

func appendCompact(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))+1), text...)
}

// decodeStable reads an answer without its size.
func decodeStable(body []byte) (*stableAnswer, error) {
	r := &flexible{b: body}
	r.skip(4) // correlation id
	r.tags()
	r.skip(4) // throttle time
	a := &stableAnswer{partitions: make(map[event.TopicPartition]stableOffset)}
	for range r.length() {
		topic := r.text()
		for range r.length() {
			at := event.TopicPartition{Topic: topic, Partition: int(r.int32())}
			var p stableOffset
			p.offset = r.int64()
			r.skip(4) // leader epoch
			r.text()  // metadata
			p.code = r.int16()
			r.tags()
			a.partitions[at] = p
		}
		r.tags()
	}
	a.code = r.int16()
	r.tags()
	if r.short {
		return nil, errors.New("the answer to OffsetFetch is cut off")
	}
	return a, nil
}

// flexible reads Kafka's flexible encoding (KIP-482). After the end of b it gives zeros, and short says so.
type flexible struct {
	b     []byte
	short bool
}

func (r *flexible) skip(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.b, r.short = nil, true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *flexible) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.short = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// length of an array or a text; null has 0. No element takes less than a byte.
func (r *flexible) length() uint64 {
	n := r.uvarint()
	if n <= 1 {
		return 0
	}
	if n-1 > uint64(len(r.b)) {
		r.b, r.short = nil, true
		return 0
	}
	return n - 1
}

func (r *flexible) text() string { return string(r.skip(r.length())) }

func (r *flexible) tags() {
	for range r.uvarint() {
		r.uvarint()
		r.skip(r.uvarint())
		if r.short {
			return
		}
	}
}

func (r *flexible) int16() int16 {
	if b := r.skip(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *flexible) int32() int32 {
	if b := r.skip(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *flexible) int64() int64 {
	if b := r.skip(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}
