package parquet

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"rivulet/dataset/table"
	"rivulet/test/expect"
)

// readAll reads all columns of a node file or an edge file.
func readAll(content []byte, l limits) error {
	return guarded(func() error {
		f, err := openTable(bytes.NewReader(content), "fuzz", int64(len(content)), l)
		if err != nil {
			return err
		}
		defer f.close()
		var all []int
		for i := range f.names {
			all = append(all, i)
		}
		return f.Each(all, func([]table.Cell, table.Place) error { return nil })
	})
}

func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.parquet")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	contents := map[string][]byte{}
	for _, file := range files {
		if strings.Contains(file, "/types/") { // too many for every byte of them; TestTypes reads them
			continue
		}
		if contents[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return contents
}

// FuzzParquet: any bytes are read or refused within bounded memory; no panic escapes.
func FuzzParquet(f *testing.F) {
	for _, content := range fixtures(f) {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = readAll(content, limits{bytes: 1 << 20, values: 1 << 16, open: 1 << 24})
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20+uint64(len(content))*10_000 {
			t.Errorf("%d bytes were allocated for a file of %d", took, len(content))
		}
	})
}

// Any one byte of a file may be another one.
func TestEveryByte(t *testing.T) {
	small := limits{bytes: 1 << 20, values: 1 << 16, open: 1 << 24}
	var before, after runtime.MemStats
	for name, content := range fixtures(t) {
		if err := readAll(content, small); err != nil && !strings.Contains(name, "refused") {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range content {
			spoilt := bytes.Clone(content)
			spoilt[i] ^= []byte{0x01, 0x80, 0xff}[i%3]
			runtime.ReadMemStats(&before)
			_ = readAll(spoilt, small)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Fatalf("%s: byte %d: %d bytes were allocated for a file of %d", name, i, took, len(content))
			}
		}
	}
}

// footer returns a file that consists of a footer only.
func footer(metadata string) []byte {
	out := append([]byte("PAR1"), metadata...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(metadata)))
	return append(out, "PAR1"...)
}

func TestCheckFooter(t *testing.T) {
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"too short", []byte("PAR1PAR1"), "not a Parquet file: it has 8 bytes"},
		{"encrypted", append(footer("")[:8:8], "PARE"...), "encrypted"},
		{"other magic", []byte("PAR1....12345678"), "ends in \"5678\""},
		{"footer beyond the file", []byte("PAR1\xff\xff\xff\x7fPAR1"), "footer of 2147483647 bytes in a file of 12"},
		{"no stop", footer("\x15\x02"), "unexpected EOF"},
		{"list of 2³¹ structs", footer("\x29\xfc\xff\xff\xff\xff\x07\x00"), "2147483647 elements in 1 bytes"},
		{"list of 2²¹ structs", footer("\x29\xfc\x80\x80\x80\x01" + strings.Repeat("\x00", 1<<21)),
			"more than 1048576 structs"},
		{"list of 2³¹ numbers", footer("\x29\xf5\xff\xff\xff\xff\x07\x00"), "2147483647 elements in 1 bytes"},
		{"binary of 2³¹ bytes", footer("\x28\xff\xff\xff\xff\x07\x00"), "2147483647 bytes declared, 1 left"},
		{"map of 2³¹ entries", footer("\x2b\xff\xff\xff\xff\x07\x55\x00"), "a map, which Parquet has nowhere"},
		{"structs in structs", footer(strings.Repeat("\x1c", 40)), "beyond 32"},
		{"lists in lists", footer("\x19" + strings.Repeat("\x19", 40)), "a list of type LIST"},
		{"structs in lists of structs", footer(strings.Repeat("\x79\x1c", 40)), "beyond 32"},
		{"unknown type", footer("\x1e"), "type 14"},
		{"number without end", footer("\x15" + strings.Repeat("\xff", 12)), "overflows"},
	} {
		err := checkFooter(bytes.NewReader(c.content), int64(len(c.content)))
		expect.Error(t, err, c.want, "%s", c.name)
	}
}

func TestEncoded(t *testing.T) {
	run := func(count uint64, value ...byte) []byte { return append(binary.AppendUvarint(nil, count<<1), value...) }
	packed := func(groups uint64, bytes ...byte) []byte {
		return append(binary.AppendUvarint(nil, groups<<1|1), bytes...)
	}
	deltas := func(header ...uint64) (out []byte) {
		for _, v := range header {
			out = binary.AppendUvarint(out, v)
		}
		return out
	}
	indices := func(width byte, runs ...byte) []byte { return append([]byte{width}, runs...) }
	bools := func(runs ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(runs))), runs...)
	}
	for _, c := range []struct {
		name     string
		encoding format.Encoding
		body     []byte
		want     string // empty: accepted
	}{
		{"plain", format.Plain, []byte{1, 2}, ""},
		{"run", format.RLEDictionary, indices(4, run(10, 3)...), ""},
		{"packed", format.RLEDictionary, indices(2, packed(2, 1, 2, 3, 4)...), ""},
		{"nulls alone", format.RLEDictionary, nil, ""},
		{"long run", format.RLEDictionary, indices(4, run(1<<31, 3)...), "a run of 2147483648 in a page of 10"},
		{"many runs", format.PlainDictionary, //nolint:staticcheck // as in files
			indices(4, bytes.Repeat(run(10, 3), 60)...), "in a page of 10 values"},
		{"packed run", format.RLEDictionary, indices(4, packed(1<<28, 3)...), "a run of 268435456"},
		{"packed run that ends early", format.RLEDictionary, indices(4, packed(2, 3)...), "8 bytes with 1 left"},
		{"packed run of no width", format.RLEDictionary, indices(0, packed(1<<30)...), "a run of 1073741824"},
		{"run that ends early", format.RLEDictionary, indices(9, run(3, 1)...), "2 bytes with 1 left"},
		{"run without length", format.RLEDictionary, indices(1, 0xff), "without a length"},
		{"wide indices", format.RLEDictionary, indices(33, run(3, 1)...), "33 bits"},
		{"bools", format.RLE, bools(run(10, 1)...), "encoding RLE of values of type BOOLEAN"},
		{"bools without end", format.RLE, []byte{9, 0, 0, 0, 1}, "is not supported"},
		{"deltas", format.DeltaBinaryPacked, deltas(128, 4, 10, 0), ""},
		{"many deltas", format.DeltaBinaryPacked, deltas(128, 4, 1<<30, 0), "1073741824 deltas in a page of 10"},
		{"many lengths", format.DeltaLengthByteArray, deltas(128, 4, 11, 0), "11 deltas"},
		{"no blocks", format.DeltaBinaryPacked, deltas(0, 4, 10, 0), "blocks of 0"},
		{"large blocks", format.DeltaBinaryPacked, deltas(1<<40, 4, 10, 0), "blocks of 1099511627776"},
		{"no mini-blocks", format.DeltaBinaryPacked, deltas(128, 0, 10, 0), "0 mini-blocks"},
		{"no header", format.DeltaBinaryPacked, nil, "no header"},
		{"prefixes", format.DeltaByteArray, deltas(128, 4, 10, 0), "DELTA_BYTE_ARRAY is not supported"},
		{"old levels", format.BitPacked, nil, "BIT_PACKED is not supported"},
	} {
		err := encoded(c.encoding, parquet.Boolean, c.body, 10)
		if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// The reason for runs and blocks: the library allocates the length that these few bytes declare, here 64 MiB, and up
// to 8 GiB. If it no longer does, both can go.
func TestLibraryTrustsLengths(t *testing.T) {
	const count = 1 << 24
	for name, decode := range map[string]func() error{
		"run": func() error {
			_, err := (&rle.Encoding{BitWidth: 1}).DecodeInt32(nil, append(binary.AppendUvarint(nil, count<<1), 1))
			return err
		},
		"deltas": func() error {
			_, err := new(delta.BinaryPackedEncoding).DecodeInt32(nil, append(binary.AppendUvarint([]byte{128, 1, 4}, count), 0))
			return err
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := guarded(decode)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took < 4*count {
			t.Errorf("%s: the library took %d bytes (%v)", name, took, err)
		}
	}
}

// The library reads no page that was not checked, whatever stands behind the last value of a column.
func TestPagesBehindTheLast(t *testing.T) {
	rows := make([]edge, 1000)
	for i := range rows {
		rows[i] = edge{Source: strings.Repeat("x", i), Target: "y"}
	}
	content := encode(t, [][]edge{rows}, parquet.PageBufferSize(4096))
	f, err := openTable(bytes.NewReader(content), "edges", int64(len(content)), defaults)
	expect.OK(t, err)
	defer f.close()
	column := f.file.Root().Column("source")
	meta := &f.file.Metadata().RowGroups[0].Columns[column.Index()].MetaData
	for meta.NumValues = 1; f.check.chunk(column, meta, meta.NumValues) != nil; meta.NumValues++ {
	}
	if meta.NumValues > 500 {
		t.Fatalf("the first page has %d of 1000 values", meta.NumValues)
	}
	values := parquet.NewColumnChunkValueReader(f.file.RowGroups()[0].ColumnChunks()[column.Index()])
	defer values.Close()
	if n, err := parquet.CopyValues(discard{}, values); n != meta.NumValues || err != nil {
		t.Errorf("%d values, %v; want %d", n, err, meta.NumValues)
	}
}

type discard struct{}

func (discard) WriteValues(v []parquet.Value) (int, error) { return len(v), nil }

// Bytes that the library would read in another way than the check are refused.
func TestTwoReadings(t *testing.T) {
	expect.Error(t, encoded(format.RLE, parquet.Int32, []byte{0, 0, 0, 0}, 10),
		"RLE of values of type INT32", "numbers in the encoding of bools")
	content := encode(t, [][]edge{{{"x", "y"}}, {{"x", "z"}}}, parquet.Compression(&parquet.Gzip))
	f, err := openTable(bytes.NewReader(content), "edges", int64(len(content)), defaults)
	expect.OK(t, err)
	defer f.close()
	column := f.file.Root().Column("source")
	meta := &f.file.Metadata().RowGroups[1].Columns[column.Index()].MetaData
	meta.Codec = format.Uncompressed
	expect.Error(t, f.check.chunk(column, meta, 1), "UNCOMPRESSED, but GZIP in the first row group", "two codecs")
	h := format.PageHeader{Type: format.DataPage}
	h.DataPageHeader.Valid, h.DictionaryPageHeader.Valid = true, true
	header, err := thrift.Marshal(new(thrift.CompactProtocol), h)
	expect.OK(t, err)
	expect.Error(t, f.check.page(newMetadata(bytes.NewReader(header), 0, int64(len(header)))),
		"not that of type DATA_PAGE alone", "two headers")
}

// A list may go on from page to page, each of which takes a few bytes of the file.
func TestLongList(t *testing.T) {
	rows := []node{{ID: "x", Features: make([]float32, maxList+1), Split: "train"}}
	err := readAll(encode(t, [][]node{rows}), defaults)
	expect.Error(t, err, "row 1: column features: a list of more than 1048576 numbers")
}

// The limits refuse pages that are too large, alone or side by side.
func TestPageLimits(t *testing.T) {
	class := "A"
	rows := make([]node, 1000)
	for i := range rows {
		rows[i] = node{ID: strings.Repeat("x", 10+i), Features: make([]float32, 8), Label: &class, Split: "train"}
	}
	content := encode(t, [][]node{rows}, parquet.PageBufferSize(1<<20))
	generous := limits{bytes: 1 << 20, values: 1 << 16, open: 1 << 24}
	expect.OK(t, readAll(content, generous))
	for _, c := range []struct {
		limits limits
		want   string
	}{
		{limits{bytes: 1 << 10, values: 1 << 16, open: 1 << 24}, "allowed"},
		{limits{bytes: 1 << 20, values: 100, open: 1 << 24}, "1000 values, more than the allowed 100"},
		{limits{bytes: 1 << 20, values: 1 << 16, open: 1 << 16}, "side by side take more than 65536 bytes"},
	} {
		expect.Error(t, readAll(content, c.limits), c.want, "%+v", c.limits)
	}
}
