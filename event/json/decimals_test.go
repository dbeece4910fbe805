package json

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// grammar is JSON's of numbers.
var grammar = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// requireStrconvs reads the elements of a list, with before bytes before it and behind bytes behind it, and compares them
// with what strconv makes of each. It returns whether the list was read.
func requireStrconvs(t testing.TB, elements string, before, behind int) bool {
	t.Helper()
	text := strings.Repeat(" ", before) + "[" + elements + "]" + strings.Repeat(" ", behind)
	s := scanner{data: []byte(text), at: before}
	got, ok := s.floats(nil)
	if !ok {
		return false
	}
	if end := before + len(elements) + 2; s.at != end {
		t.Fatalf("[%s] is read up to byte %d, not %d", elements, s.at, end)
	}
	var texts []string
	if strings.Trim(elements, " \t\r\n") != "" {
		texts = strings.Split(elements, ",")
	}
	if len(got) != len(texts) {
		t.Fatalf("[%s] is %d numbers, not %d", elements, len(got), len(texts))
	}
	for k, text := range texts {
		text = strings.Trim(text, " \t\r\n")
		want, err := strconv.ParseFloat(text, 32)
		if !grammar.MatchString(text) || err != nil || math.Float32bits(got[k]) != math.Float32bits(float32(want)) {
			t.Fatalf("[%s]: number %d, %q, is %v, not %v (%v)", elements, k, text, got[k], want, err)
		}
	}
	return true
}

// requireIntegers is requireStrconvs for a list of integers that are not negative.
func requireIntegers(t testing.TB, elements string, before, behind int) bool {
	t.Helper()
	text := strings.Repeat(" ", before) + "[" + elements + "]" + strings.Repeat(" ", behind)
	s := scanner{data: []byte(text), at: before}
	got, ok := s.indices(nil)
	if !ok {
		return false
	}
	if end := before + len(elements) + 2; s.at != end {
		t.Fatalf("[%s] is read up to byte %d, not %d", elements, s.at, end)
	}
	var texts []string
	if strings.Trim(elements, " \t\r\n") != "" {
		texts = strings.Split(elements, ",")
	}
	if len(got) != len(texts) {
		t.Fatalf("[%s] is %d numbers, not %d", elements, len(got), len(texts))
	}
	for k, text := range texts {
		text = strings.Trim(text, " \t\r\n")
		want, err := strconv.ParseInt(text, 10, 32)
		if !grammar.MatchString(text) || err != nil || int64(got[k]) != want {
			t.Fatalf("[%s]: number %d, %q, is %v, not %v (%v)", elements, k, text, got[k], want, err)
		}
	}
	return true
}

// drawNumber draws the text of a number: the shortest of a float32 or float64, one with a given number of digits, one at
// or beside the middle of two float32, an integer, or one of digits drawn one by one.
func drawNumber(rng *rand.Rand) string {
	v := math.Float32frombits(rng.Uint32() &^ (1 << 30)) // below 2, of any size
	if rng.IntN(4) > 0 || math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		v = float32(rng.NormFloat64() * math.Pow(10, float64(rng.IntN(9)-3)))
	}
	middle := (float64(v) + float64(math.Nextafter32(v, math.MaxFloat32))) / 2
	switch rng.IntN(8) {
	case 0:
		return strconv.FormatFloat(float64(v), 'f', -1, 64)
	case 1:
		return strconv.FormatFloat(float64(v), 'g', 17, 64)
	case 2:
		return strconv.FormatFloat(middle, 'f', -1, 64)
	case 3:
		return strconv.FormatFloat(math.Nextafter(middle, float64(rng.IntN(3)-1)), 'f', rng.IntN(24), 64)
	case 4:
		return fmt.Sprint(int64(rng.Uint64()) >> rng.IntN(64))
	case 5:
		whole := cmp.Or(strings.TrimLeft(digitsOf(rng, rng.IntN(6)), "0"), "0")
		return []string{"", "-"}[rng.IntN(2)] + whole + "." + digitsOf(rng, 1+rng.IntN(22))
	}
	return strconv.FormatFloat(float64(v), 'f', -1, 32)
}

func digitsOf(rng *rand.Rand, n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = '0' + byte(rng.IntN(10))
	}
	return string(text)
}

// Lists of numbers of every kind, anywhere in a record, have the bits of strconv.
func TestDecimalsAreThoseOfStrconv(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		texts := make([]string, rng.IntN(40))
		for k := range texts {
			texts[k] = drawNumber(rng)
		}
		elements := strings.Join(texts, []string{",", ", ", " ,", ",\n "}[max(0, rng.IntN(8)-4)])
		if !requireStrconvs(t, elements, rng.IntN(70), rng.IntN(70)) {
			t.Fatalf("[%s] is not read", elements)
		}
	}
}

// Lists of integers of all lengths, anywhere in a record, are those of strconv.
func TestIntegersAreThoseOfStrconv(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 20_000 {
		texts := make([]string, rng.IntN(60))
		for k := range texts {
			texts[k] = strconv.Itoa(int(rng.Int32()) >> rng.IntN(32))
		}
		elements := strings.Join(texts, []string{",", ", ", " ,", ",\n "}[max(0, rng.IntN(8)-4)])
		if !requireIntegers(t, elements, rng.IntN(70), rng.IntN(70)) {
			t.Fatalf("[%s] is not read", elements)
		}
	}
}

// The middle of two float32 and its neighbours, with all their digits and with fewer, among other numbers.
func TestMiddles(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		v := float32(math.Abs(rng.NormFloat64())) * []float32{1, 1 << 10, 1 << 20, 1 << 24}[rng.IntN(4)]
		middle := (float64(v) + float64(math.Nextafter32(v, math.MaxFloat32))) / 2
		var texts []string
		for step := -4; step <= 4; step++ {
			near := math.Float64frombits(math.Float64bits(middle) + uint64(step))
			for _, digits := range []int{-1, 15, 16, 17, 18} {
				texts = append(texts, strconv.FormatFloat(near, 'f', digits, 64))
			}
		}
		if elements := strings.Join(texts, ","); !requireStrconvs(t, elements, 40, 40) {
			t.Fatalf("[%s] is not read", elements)
		}
	}
}

// What is no number of JSON is refused at every place of a list, by the kernel as elsewhere.
func TestNoNumbers(t *testing.T) {
	for _, bad := range []string{"", "-", ".", "-.", "1.", ".5", "-.5", "1.-5", "--1", "+1", "01", "-01", "00", "00.5",
		"-00.5", "1..2", "1.2.3", "0x1", "1_000", "1e", "1e+", "e5", ".e5", "1 2", "1-", "1-2", "- 1", "١", "NaN", "null",
		"Infinity", "1e39", "4e38", "/1", ":1", "1/2", "1:2", "\"1\"", "[1]", "1\x00", "\x001", "\x80", "1\xff",
		"01234567890123456789012", "0000000000000000000000000000001", "1234567890123456789.",
		"123456789012345678901234567890123456789012345"} {
		for place := range 24 {
			texts := make([]string, 24)
			for k := range texts {
				texts[k] = "0.12345678"[:3+k%7]
			}
			texts[place] = bad
			elements := strings.Join(texts, ",")
			if requireStrconvs(t, elements, 40, 80) {
				t.Errorf("[%s] is read", elements)
			}
			if elements = strings.ReplaceAll(elements, "0.", "1"); requireIntegers(t, elements, 40, 80) {
				t.Errorf("[%s] is read as integers", elements)
			}
		}
	}
}

func FuzzIntegers(f *testing.F) {
	for _, elements := range []string{"", "1", "0,10,99", "01,1,5", "1,1,1,1,1,1,1,1 0", "2147483647,2147483648,-1", "7, 8 ,9",
		"12345678,123456789,1234567", "1,2,3" + strings.Repeat(",4,5", 20)} {
		f.Add(elements, 40, 64)
	}
	f.Fuzz(func(t *testing.T, elements string, before, behind int) {
		if strings.ContainsAny(elements, "[]") {
			return
		}
		requireIntegers(t, elements, before&127, behind&127)
	})
}

func FuzzDecimals(f *testing.F) {
	for _, elements := range []string{"", "1", "-0.0,0.1,1.5e-7", "0.23578382,-1.4796333, 0.60803",
		"16777217,9007199254740993,0.1234567890123456789012", "01,1.,.5", "1,1,1,1,1,1,1,1 0",
		"9223372036854775807,9223372036854775808,922.9999999999999999", "1,2,3" + strings.Repeat(",4,5", 20)} {
		f.Add(elements, 40, 64)
	}
	f.Fuzz(func(t *testing.T, elements string, before, behind int) {
		if strings.ContainsAny(elements, "[]") {
			return
		}
		requireStrconvs(t, elements, before&127, behind&127)
	})
}

// Lists of 400 indices, of one to three digits and of six.
func BenchmarkIntegers(b *testing.B) {
	for name, from := range map[string]int{"short": 0, "long": 100_000} {
		b.Run(name, func(b *testing.B) {
			texts := make([]string, 400)
			for k := range texts {
				texts[k] = strconv.Itoa(from + 2*k)
			}
			data := []byte(strings.Repeat(" ", 40) + "[" + strings.Join(texts, ",") + "]" + strings.Repeat(" ", 100))
			var numbers []int32
			for b.Loop() {
				s := scanner{data: data, at: 40}
				var ok bool
				if numbers, ok = s.indices(numbers[:0]); !ok {
					b.Fatal("the list is not read")
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/400, "ns/number")
		})
	}
}

// Lists of 602 numbers, as replayed arrivals, Python and hands write them.
func BenchmarkDecimals(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	write := func(separator string, format byte, digits, size int, scale float64) string {
		texts := make([]string, 602)
		for k := range texts {
			texts[k] = strconv.FormatFloat(float64(float32(scale*rng.NormFloat64())), format, digits, size)
		}
		return strings.Join(texts, separator)
	}
	for _, list := range []struct{ name, elements string }{
		{"float32", write(",", 'f', -1, 32, 1)},
		{"float64", write(", ", 'f', -1, 64, 1)},
		{"cents", write(",", 'f', 2, 64, 1)},
		{"exponents", write(",", 'e', -1, 32, 1)},
		{"integers", write(",", 'f', 0, 64, 100)},
		{"lines", write(",\n      ", 'f', -1, 32, 1)},
	} {
		b.Run(list.name, func(b *testing.B) {
			data := []byte(strings.Repeat(" ", 40) + "[" + list.elements + "]" + strings.Repeat(" ", 100))
			var numbers []float32
			for b.Loop() {
				s := scanner{data: data, at: 40}
				var ok bool
				if numbers, ok = s.floats(numbers[:0]); !ok {
					b.Fatal("the list is not read")
				}
			}
			b.SetBytes(int64(len(list.elements)))
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/602, "ns/number")
		})
	}
}
