package json

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/event/eventtest"
	"rivulet/test/expect"
)

// requireSameReading: what the scanner reads, the tokens of the library give too, to the bit.
func requireSameReading(t rapid.TB, record []byte) (plain bool) {
	t.Helper()
	scanned, walked := eventtest.UsedArrival(), eventtest.UsedArrival()
	if !scanPlain(record, &scanned, false) {
		return false
	}
	if err := (Codec{}).DecodeTokens(record, &walked); err != nil {
		t.Fatalf("%q is read as %+v, but %v", record, scanned, err)
	}
	eventtest.RequireSameArrival(t, &walked, &scanned)
	return true
}

// AppendArrival's output for ordinary ids is plain, also with white space between its tokens.
func TestPlainIsDecoded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a := eventtest.DrawArrival(r)
		a.ID = "ünïcode-" + strconv.Itoa(rapid.IntRange(0, 9).Draw(r, "id"))
		for i := range a.Edges {
			a.Edges[i] = fmt.Sprint("n", i)
		}
		record, err := Codec{}.AppendArrival(nil, &a)
		expect.OK(r, err)
		var spaced []byte
		for _, c := range record {
			if bytes.IndexByte([]byte(`{}[],`), c) < 0 {
				spaced = append(spaced, c)
				continue
			}
			space := rapid.SampledFrom([]string{"", " ", "\n\t", "\r "})
			spaced = append(spaced, space.Draw(r, "before")...)
			spaced = append(append(spaced, c), space.Draw(r, "after")...)
		}
		for _, record := range [][]byte{record, spaced} {
			if !requireSameReading(r, record) {
				r.Fatalf("%q is not plain", record)
			}
		}
	})
}

// Records that have been damaged, or that are not plain: the scanner gives up, or reads what the tokens give.
func TestDamagedIsLeftToTheTokens(t *testing.T) {
	bytesOf := []byte(`{}[]",:\ -+.0179eEnul` + "\n\x00\x1f\x80\xff")
	rapid.Check(t, func(r *rapid.T) {
		a := eventtest.DrawArrival(r)
		record, err := Codec{}.AppendArrival(nil, &a)
		expect.OK(r, err)
		for range rapid.IntRange(1, 3).Draw(r, "damages") {
			at := rapid.IntRange(0, len(record)-1).Draw(r, "at")
			with := rapid.SliceOfN(rapid.SampledFrom(bytesOf), 0, 2).Draw(r, "with")
			record = append(append(bytes.Clone(record[:at]), with...), record[at+1:]...)
		}
		requireSameReading(r, record)
	})
}

// Numbers of all lengths, at any distance from the end of the record, are read as the tokens are: eight bytes at
// once, or one by one.
func TestNumbersOfAllLengths(t *testing.T) {
	digits := rapid.StringMatching(`[0-9]{1,18}`)
	rapid.Check(t, func(r *rapid.T) {
		var values, indices []string
		for k := range rapid.IntRange(1, 6).Draw(r, "numbers") {
			whole := strings.TrimLeft(digits.Draw(r, "whole"), "0")
			values = append(values, rapid.SampledFrom([]string{"", "-"}).Draw(r, "sign")+cmp.Or(whole, "0")+
				rapid.SampledFrom([]string{"", "." + digits.Draw(r, "fraction")}).Draw(r, "point"))
			indices = append(indices, fmt.Sprint(k*rapid.SampledFrom([]int{1, 99, 10_000_019}).Draw(r, "step")))
		}
		between := rapid.SampledFrom([]string{",", ", ", " ,", ",  "}).Draw(r, "between")
		dense := fmt.Sprintf(`{"id":1,"features":[%s]}`, strings.Join(values, between))
		sparse := fmt.Sprintf(`{"id":1,"features":{"values":[%s],"indices":[%s]},"edges":[%s]}`,
			strings.Join(values, between), strings.Join(indices, between), strings.Join(indices, between))
		requireSameReading(r, []byte(dense+strings.Repeat(" ", rapid.IntRange(0, 40).Draw(r, "behind"))))
		requireSameReading(r, []byte(sparse))
	})
}

func FuzzScanArrival(f *testing.F) {
	for _, pattern := range []string{"arrival-*.json", "bad-arrival-*.json"} {
		files, err := filepath.Glob(filepath.Join("..", "testdata", pattern))
		if err != nil || files == nil {
			f.Fatalf("no files %s (%v)", pattern, err)
		}
		for _, file := range files {
			record, err := os.ReadFile(file)
			expect.OK(f, err)
			f.Add(record)
		}
	}
	f.Fuzz(func(t *testing.T, record []byte) { requireSameReading(t, record) })
}

// A number that is read by one operation of float64 has the bits that strconv gives it.
func TestNumbersAreRoundedOnce(t *testing.T) {
	check := func(t rapid.TB, text string) {
		t.Helper()
		s := scanner{data: []byte(text + ",")}
		n, ok := s.number()
		if !ok {
			t.Fatalf("%s is not read", text)
		}
		want, err := strconv.ParseFloat(text, 32)
		if got, exact := n.float(); exact && (err != nil || math.Float32bits(got) != math.Float32bits(float32(want))) {
			t.Fatalf("%s is %v, want %v (%v)", text, got, want, err)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		v := math.Float32frombits(rapid.Uint32Range(0, 0x7f7fffff).Draw(r, "bits"))
		halfway := (float64(v) + float64(math.Nextafter32(v, math.MaxFloat32))) / 2
		for _, digits := range []int{-1, 6, 9, 15, 16, 17} {
			for _, form := range []byte("eg") {
				check(r, strconv.FormatFloat(float64(v), form, digits, 32))
				check(r, strconv.FormatFloat(halfway, form, digits, 64))
			}
		}
		check(r, fmt.Sprintf("%d.%de%d", rapid.Uint32().Draw(r, "whole"), rapid.Uint32().Draw(r, "fraction"),
			rapid.IntRange(-60, 40).Draw(r, "exponent")))
	})
	for _, text := range []string{"0", "-0", "-0.0e-7", "16777217", "16777219", "9007199791611905",
		"3.4028235677973366e38",
		"3.4028236e38", "1.17549435e-38", "1e-46", "123456789012345678901234567890"} {
		check(t, text)
	}
}

// The record of the benchmark, and with it of the figures in doc.go, is plain.
func TestBenchmarkIsPlain(t *testing.T) {
	for _, sparse := range []bool{true, false} {
		if !requireSameReading(t, eventtest.BenchArrival(Codec{}, sparse)) {
			t.Errorf("sparse %v: not plain", sparse)
		}
	}
}

// Numbers are read to the nearest float64, by the scanner as by the library.
func TestNamedNumbers(t *testing.T) {
	for _, text := range []string{"0", "-0", "1", "-1.5", "0.1", "1e-7", "123456789012345678901", "1.7976931348623157e308",
		"2.2250738585072011e-308", "9007199254740993", "1e22", "1e23", "5e-324"} {
		record := []byte(`{"id":"x","features":{"named":{"a":` + text + `}}}`)
		var plain, walked event.Arrival
		if !scanPlain(record, &plain, false) {
			t.Errorf("%s is not plain", text)
		}
		expect.OK(t, Codec{}.DecodeTokens(record, &walked))
		if p, w := plain.Features.Named[0].Value.Number,
			walked.Features.Named[0].Value.Number; math.Float64bits(p) != math.Float64bits(w) {
			t.Errorf("%s: %v scanned, %v parsed", text, p, w)
		}
	}
}
