package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"rivulet/test/expect"
)

type plainRecord struct {
	Key, Value []byte
	Headers    []Header
	Stamp      int64
}

// decode reads a record set with kafka-go, which checks the checksum.
func decode(t expect.T, wire []byte) (out []plainRecord) {
	var set protocol.RecordSet
	if _, err := set.ReadFrom(bytes.NewReader(wire)); err != nil {
		t.Fatal(err)
	}
	for {
		r, err := set.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return out
		}
		expect.OK(t, err)
		p := plainRecord{Stamp: r.Time.UnixMilli()}
		if p.Key, err = protocol.ReadAll(r.Key); err != nil {
			t.Fatal(err)
		}
		if p.Value, err = protocol.ReadAll(r.Value); err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Headers {
			p.Headers = append(p.Headers, Header{Key: h.Key, Value: h.Value})
		}
		if r.Offset != int64(len(out)) {
			t.Fatal(fmt.Sprintf("record %d has offset %d", len(out), r.Offset))
		}
		out = append(out, p)
	}
}

// What is written is read back by another implementation of the format.
func TestRecordBatchProperty(t *testing.T) {
	text := rapid.SliceOfN(rapid.Byte(), 0, 300)
	rapid.Check(t, func(r *rapid.T) {
		compression := kafkago.Compression(rapid.SampledFrom([]compress.Compression{
			compress.None, compress.Gzip, compress.Snappy, compress.Lz4, compress.Zstd}).Draw(r, "compression"))
		b := NewBatch(Batch{buf: []byte("memory of an earlier batch"), places: []int32{7}})
		var want []plainRecord
		for range rapid.IntRange(1, 20).Draw(r, "records") {
			p := plainRecord{Value: text.Draw(r, "value"), Stamp: rapid.Int64Range(0, 1<<41).Draw(r, "time")}
			if rapid.Bool().Draw(r, "keyed") {
				p.Key = text.Draw(r, "key")
			}
			for k := range rapid.IntRange(0, 3).Draw(r, "headers") {
				p.Headers = append(p.Headers, Header{Key: fmt.Sprint("h", k), Value: text.Draw(r, "header")})
			}
			want = append(want, p)
			b.Append(p.Key, p.Value, p.Headers, time.UnixMilli(p.Stamp), 0)
		}
		signed := rapid.Bool().Draw(r, "signed")
		if signed {
			b.Sign(1<<40+7, 258, 1<<30+1)
		}
		wire, err := b.Finish(compression)
		expect.OK(r, err)
		if signed {
			var header kmsg.RecordBatch
			expect.OK(r, header.ReadFrom(wire[4:]))
			if header.Attributes != 1<<4|int16(compression) || header.ProducerID != 1<<40+7 || header.ProducerEpoch != 258 ||
				header.FirstSequence != 1<<30+1 || header.NumRecords != int32(len(want)) ||
				header.LastOffsetDelta != int32(len(want))-1 {
				r.Fatalf("header %+v", header)
			}
		}
		if diff := cmp.Diff(want, decode(r, wire)); diff != "" {
			r.Fatalf("records (-written +read):\n%s", diff)
		}
	})
}

func BenchmarkRecordBatch(b *testing.B) {
	headers := []Header{{Key: "content-type", Value: []byte("application/json")},
		{Key: "rivulet-artifact", Value: []byte("v1")}}
	key, value, now := []byte("key-1"), bytes.Repeat([]byte("v"), 300), time.Now()
	b.Run("ours", func(b *testing.B) {
		var batch Batch
		for range b.N {
			batch = NewBatch(batch)
			for i := range 256 {
				batch.Append(key, value, headers, now, i)
			}
			if _, err := batch.Finish(0); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "records/s")
	})
	b.Run("kafka-go", func(b *testing.B) {
		kheaders := []protocol.Header{{Key: headers[0].Key, Value: headers[0].Value},
			{Key: headers[1].Key, Value: headers[1].Value}}
		for range b.N {
			records := make([]protocol.Record, 256)
			for i := range records {
				records[i] = protocol.Record{Key: protocol.NewBytes(key), Value: protocol.NewBytes(value), Headers: kheaders,
					Time: now}
			}
			set := protocol.RecordSet{Version: 2, Records: protocol.NewRecordReader(records...)}
			if _, err := set.WriteTo(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "records/s")
	})
}
