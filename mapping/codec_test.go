package mapping

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rivulet/infer/attach"
	"rivulet/test/expect"
)

func TestRowCodecGolden(t *testing.T) {
	tests := map[string]struct {
		row  attach.Row
		want string // hex
	}{
		"empty": {attach.Row{Known: true}, "00"},
		"first": {attach.Row{Known: true, Cols: []int32{0}, Vals: []float32{1}}, "01" + "00" + "0000803f"},
		"neighbours": {attach.Row{Known: true, Cols: []int32{3, 4}, Vals: []float32{0.5, 0}},
			"02" + "0300" + "0000003f" + "00000000"},
		"wide column": {attach.Row{Known: true, Cols: []int32{130, 16383}, Vals: []float32{2, 3}},
			"02" + "8201fc7e" + "00000040" + "00004040"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := AppendRow([]byte("before"), tc.row)
			if hex.EncodeToString(got) != hex.EncodeToString([]byte("before"))+tc.want {
				t.Fatalf("AppendRow = %x, want %s after what was there", got, tc.want)
			}
			back, err := DecodeRow(got[len("before"):], 1<<14)
			expect.OK(t, err)
			expect.Same(t, tc.row, back, "decoded row differs")
		})
	}
}

func TestDecodeRowRefuses(t *testing.T) {
	row := func(hexes ...string) []byte {
		b, err := hex.DecodeString(strings.Join(hexes, ""))
		expect.OK(t, err)
		return b
	}
	one, two := "0000803f", "00000040"
	tests := map[string]struct {
		data []byte
		want string
	}{
		"nothing":              {nil, "number of entries: data ends"},
		"count only":           {row("01"), "1 entries in 1 bytes"},
		"huge count":           {row("ffffffffffffffff7f"), "entries in 9 bytes"},
		"65-bit count":         {row("ffffffffffffffffff7f"), "more than 64 bits"},
		"long form":            {row("8100", "00", one), "shortest form"},
		"more than columns":    {row("0b", strings.Repeat("00", 11), strings.Repeat(one, 11)), "11 entries"},
		"column at the limit":  {row("01", "0a", one), "column of entry 0"},
		"second past limit":    {row("02", "0801", one, one), "column of entry 1"},
		"gap overflows":        {row("02", "00", "ffffffffffffffffff01", one, one), "column of entry 1"},
		"trailing byte":        {row("01", "00", one, "00"), "5 bytes of values for 1 entries, want 4"},
		"trailing after empty": {row("00", "00"), "1 bytes of values for 0 entries, want 0"},
		"value cut":            {row("02", "0000", one, "000000"), "2 entries in 10 bytes"},
		"negative":             {row("01", "02", "000080bf"), "(column 2) is -1"},
		"NaN":                  {row("01", "02", "0000c07f"), "is NaN"},
		"infinity":             {row("02", "0200", two, "0000807f"), "entry 1 (column 3) is +Inf"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeRow(tc.data, 10)
			expect.Error(t, err, tc.want, "DecodeRow(%x)", tc.data)
		})
	}
}

func TestDecodeRowOfNoColumns(t *testing.T) {
	for _, synthetic := range []int{0, -1} {
		if _, err := DecodeRow([]byte{0}, synthetic); err != nil {
			t.Errorf("empty row of %d columns: %v", synthetic, err)
		}
		if _, err := DecodeRow(AppendRow(nil, attach.Row{Cols: []int32{0}, Vals: []float32{1}}), synthetic); err == nil {
			t.Errorf("a row with an entry was accepted for %d columns", synthetic)
		}
	}
}

func TestAppendRowPanics(t *testing.T) {
	for name, row := range map[string]attach.Row{
		"value missing":  {Cols: []int32{1}},
		"equal columns":  {Cols: []int32{1, 1}, Vals: []float32{1, 1}},
		"descending":     {Cols: []int32{2, 1}, Vals: []float32{1, 1}},
		"below 0":        {Cols: []int32{-1}, Vals: []float32{1}},
		"columns absent": {Vals: []float32{1}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			AppendRow(nil, row)
		})
	}
}

// drawRow draws a row of M with columns below limit.
func drawRow(t *rapid.T, limit int) attach.Row {
	cols := rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(limit-1)), 0, min(limit, 12), rapid.ID).Draw(t, "cols")
	slices.Sort(cols)
	row := attach.Row{Known: true}
	for _, c := range cols {
		row.Cols = append(row.Cols, c)
		row.Vals = append(row.Vals, rapid.Float32Range(0, math.MaxFloat32).Draw(t, "val"))
	}
	return row
}

func TestRowCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{1, 2, 127, 128, 129, 16384, 1 << 20, math.MaxInt32}).Draw(t, "synthetic")
		row := drawRow(t, limit)
		data := AppendRow(nil, row)
		if len(data) == 0 {
			t.Fatal("a row became no bytes: it could not be told from a missing one")
		}
		if most := 1 + 6*len(row.Cols); limit <= 1<<14 && len(data) > most {
			t.Fatalf("%d entries take %d bytes, want %d at most", len(row.Cols), len(data), most)
		}
		back, err := DecodeRow(data, limit)
		expect.OK(t, err)
		expect.Same(t, row, back, "decoded row differs")
		for cut := range data {
			if _, err := DecodeRow(data[:cut], limit); err == nil {
				t.Fatalf("the first %d of %d bytes were taken for a row", cut, len(data))
			}
		}
	})
}

func FuzzDecodeRow(f *testing.F) {
	f.Add([]byte{0}, 1)
	f.Add(AppendRow(nil, attach.Row{Cols: []int32{0, 5, 300}, Vals: []float32{1, 0.25, 3e-9}}), 301)
	f.Add(AppendRow(nil, attach.Row{Cols: []int32{math.MaxInt32 - 1}, Vals: []float32{math.MaxFloat32}}), math.MaxInt32)
	f.Fuzz(func(t *testing.T, data []byte, synthetic int) {
		row, err := DecodeRow(data, synthetic)
		if err != nil {
			return
		}
		for p, c := range row.Cols {
			if c < 0 || int(c) >= synthetic || (p > 0 && c <= row.Cols[p-1]) {
				t.Fatalf("columns %v of %d", row.Cols, synthetic)
			}
		}
		if again := AppendRow(nil, row); !bytes.Equal(again, data) {
			t.Fatalf("%x decodes to a row that encodes to %x", data, again)
		}
	})
}

func BenchmarkRowCodec(b *testing.B) {
	row := attach.Row{Known: true, Cols: []int32{17, 1200, 1201, 9000}, Vals: []float32{0.7, 0.1, 0.05, 0.3}}
	data := AppendRow(nil, row)
	b.Run("append", func(b *testing.B) {
		buf := make([]byte, 0, 64)
		for b.Loop() {
			buf = AppendRow(buf[:0], row)
		}
		b.ReportMetric(float64(len(data)), "B/row")
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeRow(data, 16000); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

// Rows are readable if their encoding can be decoded, and RowLength returns the length of the encoding.
func TestReadableRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := attach.Row{Known: true}
		for col := int32(0); rapid.Bool().Draw(t, "more"); col++ {
			col += rapid.Int32Range(0, 300).Draw(t, "gap")
			row.Cols, row.Vals = append(row.Cols, col), append(row.Vals, rapid.Float32().Draw(t, "value"))
		}
		data := AppendRow(nil, row)
		synthetic := rapid.IntRange(1, 1000).Draw(t, "synthetic")
		if _, err := DecodeRow(data, synthetic); (err == nil) != Readable(row, synthetic) {
			t.Fatalf("readable is %t, decoding: %v", Readable(row, synthetic), err)
		}
		if n := RowLength(row); n != len(data) {
			t.Fatalf("length %d, want %d", n, len(data))
		}
	})
}
