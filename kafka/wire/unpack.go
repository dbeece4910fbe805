package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	kafkago "github.com/segmentio/kafka-go"
)

// Largest bounds the memory that one record, or the window of a decoder, may take while a batch is unpacked: 64 MiB.
// Producers' own limits are far below it (max.request.size is 1 MiB by default). A batch that wants more is meant to
// harm, or for another kind of consumer.
const Largest = 64 << 20

// A batch that unpacks to more than endless bytes, and to more than endlessRatio times its packed size, is given up:
// it would hold up its partition for seconds. JSON packs about 20:1.
const (
	endless      = 1 << 30
	endlessRatio = 64
)

// errEndless is returned for a batch that goes on and on.
var errEndless = fmt.Errorf("they unpack to more than %d MiB and to more than %d times their size", endless>>20,
	endlessRatio)

// unpack returns the bytes of a batch's records as a stream that takes little memory, however much it brings.
func unpack(codec int16, packed []byte) (io.ReadCloser, error) {
	switch c := kafkago.Compression(codec); c {
	case kafkago.Gzip, kafkago.Lz4:
		return c.Codec().NewReader(bytes.NewReader(packed)), nil
	case kafkago.Snappy:
		return newSnappyBlocks(packed), nil
	case kafkago.Zstd:
		return newZstdStream(packed)
	default:
		return nil, fmt.Errorf("compression %d is unknown", codec)
	}
}

// zstdStream is a decoder that goes back to its pool. kafka-go's takes windows of 512 MiB, which 20
// bytes can ask for.
type zstdStream struct{ *zstd.Decoder }

var zstdDecoders sync.Pool // *zstd.Decoder

func newZstdStream(packed []byte) (io.ReadCloser, error) {
	if d, _ := zstdDecoders.Get().(*zstd.Decoder); d != nil {
		return zstdStream{d}, d.Reset(bytes.NewReader(packed))
	}
	d, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(Largest))
	return zstdStream{d}, err
}

// Close ends the stream.
func (z zstdStream) Close() error {
	err := z.Reset(nil) // drops the packed bytes
	zstdDecoders.Put(z.Decoder)
	return err
}

// snappyBlocks unpacks snappy: one block, or blocks with their lengths before them as snappy-java writes them.
// kafka-go's reader makes room for whatever length a block claims.
type snappyBlocks struct {
	packed []byte
	framed bool
	memory []byte
	block  []byte // the part of memory that nobody has read
}

// snappyJava is the beginning of a stream of snappy-java; versions follow, 8 bytes.
var snappyJava = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

// snappyRatio is more than snappy can pack: 64 bytes take at least three.
const snappyRatio = 22

func newSnappyBlocks(packed []byte) *snappyBlocks {
	if rest, framed := bytes.CutPrefix(packed, snappyJava); framed && len(rest) >= 8 {
		return &snappyBlocks{packed: rest[8:], framed: true}
	}
	return &snappyBlocks{packed: packed}
}

// Read unpacks.
func (s *snappyBlocks) Read(p []byte) (int, error) {
	for len(s.block) == 0 {
		if len(s.packed) == 0 {
			return 0, io.EOF
		}
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.block)
	s.block = s.block[n:]
	return n, nil
}

// next unpacks one block.
func (s *snappyBlocks) next() error {
	block := s.packed
	if s.framed {
		if len(block) < 4 {
			return io.ErrUnexpectedEOF
		}
		length := int64(binary.BigEndian.Uint32(block))
		if block = block[4:]; int64(len(block)) < length {
			return io.ErrUnexpectedEOF
		}
		block = block[:length]
		s.packed = s.packed[4+length:]
	} else {
		s.packed = nil
	}
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return err
	}
	if n > Largest || n > snappyRatio*len(block) {
		return fmt.Errorf("a block of %d bytes claims to unpack to %d", len(block), n)
	}
	s.memory, err = snappy.Decode(s.memory[:cap(s.memory)], block)
	s.block = s.memory
	return err
}

// Close does nothing.
func (*snappyBlocks) Close() error { return nil }

// stream gives the bytes of a batch's records piece by piece. Bytes that it has given never change: records keep them.
type stream struct {
	buf    []byte        // unpacked and not taken
	packed io.ReadCloser // nil: buf is all
	size   int           // of the next buffer
	left   int64         // bytes that may still be unpacked
	failed error         // why nothing more can be unpacked
}

// Sizes of a stream's buffers: few large ones are cheap, and a small batch takes little.
const (
	leastUnpacked = 4 << 10
	mostUnpacked  = 256 << 10
)

// newStream returns the records' bytes of a batch that was packed with a codec, 0 for none.
func newStream(codec int16, packed []byte) (*stream, error) {
	if codec == 0 {
		return &stream{buf: packed}, nil
	}
	from, err := unpack(codec, packed)
	if err != nil {
		return nil, err
	}
	return &stream{packed: from, size: min(max(4*len(packed), leastUnpacked), mostUnpacked),
		left: max(endless, endlessRatio*int64(len(packed)))}, nil
}

// close ends the stream. Bytes that it has given stay.
func (s *stream) close() {
	if s.packed != nil {
		_ = s.packed.Close() // nothing is written
		s.packed = nil
	}
}

// peek returns the next n bytes, or fewer where the stream ends before, without taking them.
func (s *stream) peek(n int) ([]byte, error) {
	if n > len(s.buf) && s.packed != nil && s.failed == nil {
		s.fill(n)
	}
	if n > len(s.buf) && s.failed != nil {
		return nil, s.failed
	}
	return s.buf[:min(n, len(s.buf))], nil
}

// fill unpacks into a new buffer that has room for n bytes. If unpacking fails, the bytes before the failure are kept.
func (s *stream) fill(n int) {
	buf := make([]byte, len(s.buf), max(n, s.size))
	copy(buf, s.buf)
	s.size = mostUnpacked
	got, err := io.ReadFull(s.packed, buf[len(buf):cap(buf)])
	s.buf = buf[:len(buf)+got]
	switch s.left -= int64(got); {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		s.close()
	case err != nil:
		s.failed = err
	case s.left < 0:
		s.failed = errEndless
	}
}

// take returns the next n bytes.
func (s *stream) take(n int) ([]byte, error) {
	b, err := s.peek(n)
	if err != nil {
		return nil, err
	}
	if len(b) < n {
		return nil, io.ErrUnexpectedEOF
	}
	s.buf = s.buf[n:]
	return b[:n:n], nil
}

// discard passes over n bytes.
func (s *stream) discard(n int64) error {
	here := min(n, int64(len(s.buf)))
	s.buf = s.buf[here:]
	if n -= here; n == 0 {
		return nil
	}
	if s.packed == nil {
		return io.ErrUnexpectedEOF
	}
	if s.left -= n; s.failed == nil && s.left < 0 {
		s.failed = errEndless
	}
	if s.failed != nil {
		return s.failed
	}
	if _, err := io.CopyN(io.Discard, s.packed, n); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	return nil
}

// varint takes a number in zigzag form.
func (s *stream) varint() (int64, error) {
	b, err := s.peek(binary.MaxVarintLen64)
	if err != nil {
		return 0, err
	}
	v, n := binary.Varint(b)
	if n <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	s.buf = s.buf[n:]
	return v, nil
}
