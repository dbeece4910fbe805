package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/test/expect"
)

// written is a batch of records that begins at an offset.
func written(t testing.TB, first int64, codec kafkago.Compression, records ...Record) []byte {
	t.Helper()
	b := NewBatch(Batch{})
	for _, r := range records {
		b.Append(r.Key, r.Value, r.Headers, r.Time, 0)
	}
	data, err := b.Finish(codec)
	expect.OK(t, err)
	data = data[4:]
	binary.BigEndian.PutUint64(data, uint64(first)) // not under the checksum
	return data
}

// sealed is a batch of n records whose bytes are given, packed already.
func sealed(first int64, attributes uint16, n int32, body []byte) []byte {
	empty := NewBatch(Batch{})
	head, err := empty.Finish(0)
	if err != nil {
		panic(err)
	}
	data := append(head[setSize:], body...)
	put := binary.BigEndian
	put.PutUint64(data, uint64(first))
	put.PutUint32(data[atLength:], uint32(len(data)-atRest))
	put.PutUint16(data[atAttributes:], attributes)
	put.PutUint32(data[atLastOffsetDelta:], uint32(n-1))
	put.PutUint32(data[atCount:], uint32(n))
	return signed(data)
}

func signed(data []byte) []byte {
	binary.BigEndian.PutUint32(data[atCRC:], crc32.Checksum(data[atAttributes:], castagnoli))
	return data
}

// opened are the batches of an answer whose log ends after them.
func opened(limit int, parts ...[]byte) *Reader {
	return NewReader(TopicPartition{Topic: "t", Partition: 3}, &kmsg.FetchResponseTopicPartition{HighWatermark: 1 << 40,
		RecordBatches: slices.Concat(parts...)}, limit, map[string]string{})
}

// readAll reads batches from an offset to their end.
func readAll(t testing.TB, b *Reader, next int64) (out []Record, after int64) {
	t.Helper()
	for !b.Done() {
		records, at, err := b.Read(next)
		expect.OK(t, err)
		out, next = append(out, records...), at
	}
	return out, next
}

// told says of each record its offset, and its value or what is wrong with it.
func toldOf(records []Record) (out []string) {
	for _, r := range records {
		switch d := r.Damage; {
		case d == nil:
			out = append(out, fmt.Sprintf("%d %s", r.Position.Offset, r.Value))
		case d.TooLarge:
			out = append(out, fmt.Sprintf("%d-%d too large %s", r.Position.Offset, d.Last, r.Key))
		default:
			out = append(out, fmt.Sprintf("%d-%d broken", r.Position.Offset, d.Last))
		}
	}
	return out
}

// Where the fields of a header lie that only tests change one by one.
const (
	atLastOffsetDelta = 23
	atMaxTimestamp    = 35
	atCount           = 57
)

var codecs = []kafkago.Compression{0, kafkago.Gzip, kafkago.Snappy, kafkago.Lz4, kafkago.Zstd}

func TestBatchesOfEveryCodecAreReadFromEveryOffset(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	var sent []Record
	for i := range 40 {
		r := Record{Key: fmt.Append(nil, "k", i), Value: bytes.Repeat([]byte{byte(i)}, 30*i),
			Time: at.Add(time.Duration(i) * time.Millisecond)}
		r.Position = Position{Topic: "t", Partition: 3, Offset: int64(100 + i)}
		switch i % 4 {
		case 1:
			r.Key, r.Headers = nil, []Header{{Key: "a", Value: []byte("1")}, {Key: "b"}, {Key: "", Value: []byte{}}}
		case 2:
			r.Value = nil
		}
		sent = append(sent, r)
	}
	for _, codec := range codecs {
		for from := range 41 {
			data := [][]byte{written(t, 100, codec, sent[:15]...), written(t, 115, codec, sent[15:]...)}
			got, after := readAll(t, opened(1<<20, data...), int64(100+from))
			if !slices.EqualFunc(sent[from:], got, func(a, b Record) bool { return reflect.DeepEqual(a, b) }) || after != 140 {
				t.Fatalf("codec %d from offset %d: next %d (-want +got):\n%s", codec, 100+from, after, cmp.Diff(sent[from:], got))
			}
		}
	}
}

func TestABrokerTimeIsTheRecordsTime(t *testing.T) {
	data := written(t, 0, 0, Record{Time: time.UnixMilli(5)}, Record{Time: time.UnixMilli(6)})
	binary.BigEndian.PutUint16(data[atAttributes:], logAppendTime)
	binary.BigEndian.PutUint64(data[atMaxTimestamp:], 99)
	got, _ := readAll(t, opened(1<<20, signed(data)), 0)
	if len(got) != 2 || got[0].Time.UnixMilli() != 99 || got[1].Time.UnixMilli() != 99 {
		t.Errorf("read %+v, want two records of 99 ms", got)
	}
}

// zstdOf packs with zstd what a function writes.
func zstdOf(t testing.TB, write func(w io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err == nil {
		err = write(w)
	}
	if err == nil {
		err = w.Close()
	}
	expect.OK(t, err)
	return out.Bytes()
}

type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Records that cannot be told apart become one record that names the first and the last offset, and reading goes on
// after it.
func TestABrokenBatchIsOneRecord(t *testing.T) {
	r := func(v string) Record { return Record{Key: []byte("k"), Value: []byte(v), Time: time.UnixMilli(1)} }
	three := func(codec kafkago.Compression) []byte { return written(t, 10, codec, r("a"), r("b"), r("c")) }
	change := func(data []byte, at int, to byte) []byte {
		data[at] = to
		return data
	}
	plain := three(0)[atBody:]
	old := make([]byte, 40) // one message of format 1
	binary.BigEndian.PutUint64(old, 12)
	binary.BigEndian.PutUint32(old[8:], 28)
	old[atMagic] = 1
	for name, c := range map[string]struct {
		data []byte
		want []string
	}{
		"checksum":            {change(three(0), 70, 0xff), []string{"10-12 broken"}},
		"checksum of offsets": {change(three(0), atLastOffsetDelta, 0x7f), []string{"10-12 broken"}},
		"codec":               {sealed(10, 7, 3, plain), []string{"10-12 broken"}},
		"no gzip":             {sealed(10, 1, 3, plain), []string{"10-12 broken"}},
		"no snappy":           {sealed(10, 2, 3, plain), []string{"10-12 broken"}},
		"no lz4":              {sealed(10, 3, 3, plain), []string{"10-12 broken"}},
		"no zstd":             {sealed(10, 4, 3, plain), []string{"10-12 broken"}},
		"cut off":             {sealed(10, 0, 3, plain[:len(plain)-2]), []string{"10 a", "11 b", "12-12 broken"}},
		"length":              {sealed(10, 0, 3, change(slices.Clone(plain), 0, 0x03)), []string{"10-12 broken"}},
		"offsets":             {signed(change(sealed(10, 0, 3, plain), atLastOffsetDelta+3, 1)), []string{"10 a", "11 b"}},
		"count":               {signed(change(sealed(10, 0, 3, plain), atCount, 0xff)), []string{"10-12 broken"}},
		"more than there are": {signed(change(sealed(10, 0, 3, plain), atCount+3, 9)), []string{"10 a", "11 b", "12 c"}},
		"format 1":            {old, []string{"10-12 broken"}},
		"format 3":            {change(three(0), atMagic, 3), []string{"10-12 broken"}},
	} {
		got, after := readAll(t, opened(1<<20, c.data, written(t, 13, 0, r("next"))), 10)
		want := append(slices.Clone(c.want), "13 next")
		if diff := cmp.Diff(want, toldOf(got)); diff != "" || after != 14 {
			t.Errorf("%s: next %d, want 14 (-want +got):\n%s", name, after, diff)
		}
	}
}

// A record that is too large is one record with its key; the others of its batch are read.
func TestALargeRecordDoesNotHideItsBatch(t *testing.T) {
	large := Record{Key: []byte("large"), Value: make([]byte, 5000)}
	manyHeaders := Record{Key: []byte("h"), Value: []byte("headers"),
		Headers: slices.Repeat([]Header{{Key: "x", Value: make([]byte, 50)}}, 100)}
	longKey := Record{Key: make([]byte, 200_000)}
	for _, codec := range codecs {
		data := written(t, 0, codec, Record{Value: []byte("a")}, large, manyHeaders, longKey, Record{Value: []byte("b")})
		got, _ := readAll(t, opened(1000, data), 0)
		want := []string{"0 a", "1-1 too large large", "2 headers", "3-3 too large ", "4 b"}
		expect.Same(t, want, toldOf(got), "codec %d", codec)
		if len(got) == 5 && len(got[2].Headers) != 100 {
			t.Errorf("codec %d: %d headers, want 100", codec, len(got[2].Headers))
		}
	}
}

// Whatever a batch unpacks to, a piece of it takes bounded memory: of records that pack best, pieceBytes and one
// record; of the smallest records, which are counted by their bytes and take a [Record] each, 32 times as much. The
// test prints what a byte on the wire becomes in all.
func TestExpansion(t *testing.T) {
	const small, smallest = 100_000, 7 // records, and the bytes of an empty one
	worst := map[string]struct {
		records []Record
		most    int // bytes of a piece
	}{
		"large": {slices.Repeat([]Record{{Value: make([]byte, 100<<10)}}, 100), pieceBytes + 100<<10},
		"empty": {make([]Record, small), 32 * pieceBytes},
		"headers": {slices.Repeat([]Record{{Headers: make([]Header, 1000)}}, 100), pieceBytes +
			1000*(headerMemory+2) + 100*int(unsafe.Sizeof(Record{}))},
	}
	for name, w := range worst {
		for _, codec := range codecs {
			b := opened(1<<20, written(t, 0, codec, w.records...))
			packed, next, all, read := len(b.rest), int64(0), 0, 0
			for !b.Done() {
				got, after, err := b.Read(next)
				expect.OK(t, err)
				size := 0
				for _, r := range got {
					size += int(unsafe.Sizeof(r)) + len(r.Value) + headerMemory*len(r.Headers)
				}
				if size > w.most {
					t.Errorf("%s, codec %d: a piece of %d records takes %d bytes, at most %d", name, codec, len(got), size, w.most)
				}
				next, all, read = after, all+size, read+len(got)
			}
			t.Logf("%s, codec %d: a byte becomes %.0f", name, codec, float64(all)/float64(packed))
			if read != len(w.records) {
				t.Errorf("%s, codec %d: %d of %d records", name, codec, read, len(w.records))
			}
		}
	}
	if most := pieceBytes / smallest * int(unsafe.Sizeof(Record{})); most > 32*pieceBytes {
		t.Errorf("the largest piece of empty records takes %d bytes", most)
	}
}

// A batch is unpacked a few MiB at a time.
func TestAPackedBatchIsReadInPieces(t *testing.T) {
	const records, size = 300, 100 << 10
	var sent []Record
	for i := range records {
		sent = append(sent, Record{Value: bytes.Repeat([]byte{byte(i), byte(i >> 8)}, size/2)})
	}
	b := opened(1<<20, written(t, 0, kafkago.Zstd, sent...))
	packed, next, pieces := len(b.rest), int64(0), 0
	for ; !b.Done(); pieces++ {
		got, after, err := b.Read(next)
		if err != nil || len(got) > pieceBytes/size+1 {
			t.Fatalf("a piece of %d records, %v", len(got), err)
		}
		for _, r := range got {
			if !bytes.Equal(r.Value, sent[r.Position.Offset].Value) {
				t.Fatalf("record %d has another value", r.Position.Offset)
			}
		}
		next = after
	}
	if next != records || pieces < 7 || packed > 1<<20 {
		t.Errorf("%d records in %d pieces of a batch of %d bytes", next, pieces, packed)
	}
}

func TestABatchWithoutAnEndIsGivenUp(t *testing.T) {
	first := []byte{14, 0, 0, 0, 1, 2, 'a', 0} // the value a
	rest := binary.AppendVarint(nil, 1<<40)    // of a length that nobody has
	body := zstdOf(t, func(w io.Writer) error {
		if _, err := w.Write(append(first, rest...)); err != nil {
			return err
		}
		_, err := io.CopyN(w, blanks{}, endless+1<<20)
		return err
	})
	got, after := readAll(t, opened(1<<20, sealed(0, 4, 3, body), written(t, 3, 0, Record{Value: []byte("next")})), 0)
	if diff := cmp.Diff([]string{"0 a", "1-2 too large ", "3 next"}, toldOf(got)); diff != "" || after != 4 {
		t.Errorf("next %d (-want +got):\n%s", after, diff)
	}
}

// A decoder does not make room for what it is only told of.
func TestClaimsTakeNoMemory(t *testing.T) {
	claims := map[string][]byte{
		"snappy":        sealed(0, 2, 1, append(binary.AppendUvarint(nil, 1<<31), 0, 0)),
		"framed snappy": sealed(0, 2, 1, append(slices.Concat(snappyJava, make([]byte, 8)), 0x7f, 0xff, 0xff, 0xff, 0)),
		"framed block": sealed(0, 2, 1, slices.Concat(snappyJava, make([]byte, 8), []byte{0, 0, 0, 7},
			append(binary.AppendUvarint(nil, 1<<31), 0, 0))),
		"zstd window": sealed(0, 4, 1, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x98, 0x01, 0x00, 0x00}), // 512 MiB
	}
	for name, data := range claims {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, _ := readAll(t, opened(1<<20, data), 0)
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 16<<20 {
			t.Errorf("%s: %d MiB were allocated", name, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
		if len(got) != 1 || got[0].Damage == nil || got[0].Damage.Last != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSnappyOfOtherClientsIsRead(t *testing.T) {
	body := written(t, 0, 0, Record{Value: bytes.Repeat([]byte("ab"), 1000)}, Record{Value: []byte("b")})[atBody:]
	framed := slices.Concat(snappyJava, make([]byte, 8))
	for part := range slices.Chunk(body, 300) {
		block := snappy.Encode(nil, part)
		framed = append(binary.BigEndian.AppendUint32(framed, uint32(len(block))), block...)
	}
	for name, packed := range map[string][]byte{"one block": snappy.Encode(nil, body), "framed": framed} {
		got, _ := readAll(t, opened(1<<20, sealed(0, 2, 2, packed)), 0)
		if len(got) != 2 || len(got[0].Value) != 2000 || string(got[1].Value) != "b" {
			t.Errorf("%s: %v", name, toldOf(got))
		}
	}
}

// Whatever a batch holds, reading ends behind it, and gives no offset twice.
func TestBatchesOfAnythingAreReadToTheirEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var sent []Record
	for i := range 20 {
		sent = append(sent, Record{Key: fmt.Append(nil, i), Value: make([]byte, r.IntN(200)),
			Headers: []Header{{Key: "h", Value: []byte("v")}}})
	}
	var whole [][]byte
	for _, codec := range codecs {
		whole = append(whole, written(t, 50, codec, sent...))
	}
	next := written(t, 1<<41, 0, Record{})
	for i := range 4000 {
		data := slices.Clone(whole[i%len(codecs)])
		for range 1 + r.IntN(4) {
			data[atAttributes+r.IntN(len(data)-atAttributes)] = byte(r.Uint32())
		}
		if i%3 > 0 {
			signed(data)
		}
		got, after := readAll(t, opened(150, data, next), 50)
		last := int64(49)
		for _, rec := range got {
			if rec.Position.Offset <= last {
				t.Fatalf("batch %d: offset %d after %d: %s", i, rec.Position.Offset, last, strings.Join(toldOf(got), "; "))
			}
			last = rec.Position.Offset
			if rec.Damage != nil {
				last = rec.Damage.Last
			}
		}
		if after != 1<<41+1 || last != 1<<41 {
			t.Fatalf("batch %d: read to %d, want %d", i, after, 1<<41+1)
		}
	}
}

// Memory is taken once for the records of a piece, as the headers of its batches count them; a count that the batch's
// bytes cannot hold is not believed, and nobody knows how many pieces packed batches are.
func TestRoomIsForTheRecordsOfAPiece(t *testing.T) {
	var some []Record
	for range 300 {
		some = append(some, Record{Key: []byte("key"), Value: make([]byte, 100),
			Headers: []Header{{Key: "a", Value: []byte("b")}}})
	}
	plain, packed := written(t, 300, 0, some...), written(t, 300, kafkago.Gzip, some...)
	for name, c := range map[string]struct {
		next []byte
		room int
	}{
		"plain":  {slices.Concat(plain, written(t, 600, 0, some...)), 900},
		"packed": {packed, 300},
		"lying":  {sealed(300, 0, 1<<30, make([]byte, 3200-atBody)), 300 + 3200/roomPerByte},
		"cut":    {plain[:len(plain)-1], 300},
	} {
		b, next := opened(1<<20, written(t, 0, 0, some...), c.next), int64(0)
		if _, err := b.begin(&next); err != nil {
			t.Fatal(err)
		}
		if got := b.room(); got != c.room {
			t.Errorf("%s: room for %d records, want %d", name, got, c.room)
		}
	}
	records, _ := readAll(t, opened(1<<20, written(t, 0, 0, some...), plain), 0)
	for i := range records { // whose headers lie beside one another
		if records[i].Headers = append(records[i].Headers, Header{Key: "mine"}); i > 0 && records[i].Headers[0].Key != "a" {
			t.Fatalf("a header was overwritten by another record's")
		}
	}
}

// A producer whose aborted transaction ends before the answer begins writes another, which is committed.
func TestAnAbortedTransactionDoesNotHideTheNextOne(t *testing.T) {
	list := []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: 3}}
	batch := func(offset int64, attributes int16) *header {
		return &header{kmsg.RecordBatch{FirstOffset: offset, ProducerID: 7, Attributes: attributes}}
	}
	a := newAborted(list)
	if !a.skip(batch(5, transactional|control)) {
		t.Error("a control batch is not passed over")
	}
	if a.skip(batch(6, transactional)) {
		t.Error("a committed transaction is passed over")
	}
	if a = newAborted(list); !a.skip(batch(3, transactional)) {
		t.Error("an aborted transaction is read")
	}
}
