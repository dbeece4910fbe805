package event

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// arrivalScanner reads an arrival in its plain form: the fields of the contract only, each once, text without
// escapes. It is what producers write, and reading it in one pass takes a fraction of what the tokens of the
// library take. The scanner refuses nothing itself. It gives up where a record is not plain or not right, and
// then [arrivalDecoder] reads it from the beginning and decides; so both need not agree on what is wrong, only
// on what is right (TestPlainIsDecoded, FuzzDecodeArrival).
type arrivalScanner struct {
	data    []byte
	at      int     // the next byte
	ids     []span  // of the edges
	inPlace inPlace // of the arrival's ids
}

// span is data[from:to].
type span struct{ from, to int }

var arrivalScanners = sync.Pool{New: func() any { return new(arrivalScanner) }}

// scanPlain reads a record into a and reports whether it could. If not, the content of a is undefined.
func scanPlain(data []byte, a *Arrival, p inPlace) bool {
	s := arrivalScanners.Get().(*arrivalScanner)
	s.data, s.at, s.inPlace = data, 0, p
	ok := s.arrival(a)
	s.data = nil
	if cap(s.ids) <= maxScratch/16 {
		arrivalScanners.Put(s)
	}
	return ok
}

// Bits for the members of an object that have been met.
const (
	metID = 1 << iota
	metFeatures
	metEdges
	metTime
	metIndices
	metValues
	metNamed
)

func (s *arrivalScanner) arrival(a *Arrival) bool {
	a.ID, a.Edges, a.Time = "", a.Edges[:0], time.Time{}
	met, ok := s.object(func(name []byte) (field int, ok bool) {
		switch string(name) {
		case "id":
			id, ok := s.id()
			a.ID = s.inPlace.text(s.data[id.from:id.to])
			return metID, ok
		case "features":
			return metFeatures, s.features(&a.Features)
		case "edges":
			a.Edges, ok = s.edges(a.Edges)
			return metEdges, ok
		case "time":
			a.Time, ok = s.time()
			return metTime, ok
		}
		return 0, false
	})
	s.space()
	return ok && met&metID != 0 && met&metFeatures != 0 && s.at == len(s.data)
}

// object calls member with the name of each member; member reads its value and returns the field's bit. object
// returns the bits of all.
func (s *arrivalScanner) object(member func(name []byte) (field int, ok bool)) (met int, ok bool) {
	if !s.next('{') {
		return 0, false
	}
	for !s.next('}') {
		if met != 0 && !s.next(',') {
			return 0, false
		}
		name, ok := s.text()
		if !ok || !s.next(':') {
			return 0, false
		}
		field, ok := member(s.data[name.from:name.to])
		if !ok || met&field != 0 {
			return 0, false
		}
		met |= field
	}
	return met, true
}

// space passes over white space.
func (s *arrivalScanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// peek returns the next byte that is no white space, 0 at the end.
func (s *arrivalScanner) peek() byte {
	if s.at < len(s.data) && s.data[s.at] > ' ' {
		return s.data[s.at]
	}
	if s.space(); s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

// next passes over c, if it is what comes next.
func (s *arrivalScanner) next(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// more reports whether a list, whose bracket has been read, goes on with an element. first is true before its
// first one. ok is false where neither an element nor the end comes.
func (s *arrivalScanner) more(first bool) (goesOn, ok bool) {
	switch c := s.peek(); {
	case c == ']':
		s.at++
		return false, true
	case first:
		return true, true
	case c == ',':
		s.at++
		return true, s.peek() != ']'
	}
	return false, false
}

// text reads a string without escapes and returns what is between its quotes.
func (s *arrivalScanner) text() (span, bool) {
	if !s.next('"') {
		return span{}, false
	}
	from, ascii := s.at, true
	for i := s.plainUntil(from); i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.at = i + 1
			return span{from, i}, ascii || utf8.Valid(s.data[from:i])
		case c == '\\' || c < ' ':
			return span{}, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return span{}, false
}

// plainTexts reads into s.ids the elements of a list, whose bracket has been read, as long as each is ASCII text
// without escapes behind at most one space, and reports whether that was the whole list. If not, s is where
// [arrivalScanner.more] goes on, as in [arrivalScanner.shortIntegers].
func (s *arrivalScanner) plainTexts() (ended bool) {
	d, i, ids := s.data, s.at, s.ids[:0]
	for i < len(d) && d[i] == '"' {
		end := s.plainUntil(i + 1)
		if end == i+1 || end+1 >= len(d) || d[end] != '"' {
			break
		}
		ids = append(ids, span{i + 1, end})
		if s.at = end + 1; d[s.at] != ',' {
			break
		}
		if i = s.at + 1; i < len(d) && d[i] == ' ' {
			i++
		}
	}
	if s.ids = ids; len(ids) > 0 && d[s.at] == ']' {
		s.at++
		return true
	}
	return false
}

// notPlain returns 0 if each of eight bytes is ASCII without quotes, backslashes and control characters. If not, its
// lowest bit is the upper bit of the first other byte; bits above it mean nothing, because a borrow may have changed
// them.
func notPlain(v uint64) uint64 {
	const each, high = 0x0101010101010101, 0x8080808080808080
	quote, escape := v^'"'*each, v^'\\'*each
	return ((quote-each)&^quote | (escape-each)&^escape | (v-' '*each)&^v | v) & high
}

// plainUntil returns a place up to which text from i on is ASCII without quotes, escapes and control characters:
// that of the first other byte, or fewer than eight bytes from the end.
func (s *arrivalScanner) plainUntil(i int) int {
	for ; i+8 <= len(s.data); i += 8 {
		if other := notPlain(binary.LittleEndian.Uint64(s.data[i:])); other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
	}
	return i
}

// id reads a string that is not empty, or an integer.
func (s *arrivalScanner) id() (span, bool) {
	if s.peek() == '"' {
		id, ok := s.text()
		return id, ok && id.from < id.to
	}
	from := s.at
	n, ok := s.number()
	id := span{from, s.at}
	return id, ok && n.whole && !(n.negative && n.digits == 0)
}

func (s *arrivalScanner) edges(edges []string) ([]string, bool) {
	if !s.next('[') {
		return edges, false
	}
	from := s.at
	for ended := s.plainTexts(); !ended; {
		goesOn, ok := s.more(len(s.ids) == 0)
		if !ok {
			return edges, false
		}
		if !goesOn {
			break
		}
		id, ok := s.id()
		if !ok {
			return edges, false
		}
		s.ids = append(s.ids, id)
	}
	all := s.inPlace.text(s.data[from:s.at])
	for _, id := range s.ids {
		edges = append(edges, all[id.from-from:id.to-from])
	}
	return edges, true
}

func (s *arrivalScanner) time() (t time.Time, ok bool) {
	text, ok := s.text()
	if !ok || t.UnmarshalText(s.data[text.from:text.to]) != nil || !inYears(t) {
		return t, false
	}
	return t.UTC(), true
}

func (s *arrivalScanner) features(f *Features) (ok bool) {
	if s.peek() == '[' {
		values, ok := s.floats(f.Values[:0])
		*f = Features{Values: values}
		return ok
	}
	f.Sparse = true
	met, ok := s.object(func(name []byte) (field int, ok bool) {
		switch string(name) {
		case "indices":
			f.Indices, ok = s.indices(f.Indices[:0])
			return metIndices, ok
		case "values":
			f.Values, ok = s.floats(f.Values[:0])
			return metValues, ok
		case "named":
			return metNamed, s.named(f)
		}
		return 0, false
	})
	if ok && met == metNamed {
		f.becomeNamed(f.Named)
		return true
	}
	f.Named = nil
	if !ok || met&metNamed != 0 || met&metIndices == 0 {
		return false
	}
	if met&metValues == 0 {
		f.Values = f.Values[:0]
		for range f.Indices {
			f.Values = append(f.Values, 1)
		}
	}
	return f.checkPairs() == nil && f.order() == nil
}

func (s *arrivalScanner) indices(list []int32) ([]int32, bool) {
	if !s.next('[') {
		return list, false
	}
	list, ended := s.shortIntegers(list)
	if ended {
		return list, true
	}
	for {
		goesOn, ok := s.more(len(list) == 0)
		if !ok || !goesOn {
			return list, ok
		}
		n, ok := s.number()
		if !ok || !n.whole || n.negative || n.digits > math.MaxInt32 || n.inexact {
			return list, false
		}
		list = append(list, int32(n.digits))
	}
}

// shortIntegers reads the elements of a list, whose bracket has been read, as long as each is an integer of one to
// seven digits behind at most one space, and reports whether that was the whole list. If not, s is where
// [arrivalScanner.more] goes on: at the first element or at the comma before another one. Eight bytes are looked at
// at once, as a loop over digits costs a branch that cannot be foreseen for each element.
func (s *arrivalScanner) shortIntegers(list []int32) (_ []int32, ended bool) {
	d, i := s.data, s.at
	for i+8 <= len(d) {
		value, n := leadingDigits(binary.LittleEndian.Uint64(d[i:]))
		if n == 0 || n == 8 || n > 1 && d[i] == '0' {
			break
		}
		list = append(list, int32(value))
		i += n
		switch d[i] {
		case ']':
			s.at = i + 1
			return list, true
		case ',':
			s.at = i
		default:
			s.at = i
			return list, false
		}
		if i++; i < len(d) && d[i] == ' ' {
			i++
		}
	}
	return list, false
}

// shortDecimals is [arrivalScanner.shortIntegers] for numbers without an exponent, of at most seven digits before the
// point and fifteen behind it.
func (s *arrivalScanner) shortDecimals(list []float32) (_ []float32, ended bool) {
	d, i := s.data, s.at
	for i+longestShort+1 <= len(d) {
		sign := (uint64(d[i]^'-') - 1) >> 63 // without a branch: half of the features may be negative
		i += int(sign)
		digits, n := leadingDigits(binary.LittleEndian.Uint64(d[i:]))
		if n == 0 || n == 8 || n > 1 && d[i] == '0' {
			break
		}
		i += n
		places := 0
		if d[i] == '.' {
			if digits, places = shortFraction(d[i+1:], digits); places == 0 {
				break
			}
			i += 1 + places
		}
		v, exact := number{digits: digits, exponent: -places}.float()
		if !exact || d[i] != ',' && d[i] != ']' {
			break
		}
		list = append(list, math.Float32frombits(math.Float32bits(v)|uint32(sign)<<31))
		if d[i] == ']' {
			s.at = i + 1
			return list, true
		}
		s.at = i
		if i++; d[i] == ' ' {
			i++
		}
	}
	return list, false
}

// longestShort is the length of the longest number that shortDecimals reads, with the bytes that it looks at behind.
const longestShort = len("-1234567.1234567812345678")

func (s *arrivalScanner) floats(list []float32) ([]float32, bool) {
	if !s.next('[') {
		return list, false
	}
	list, ended := s.shortDecimals(list)
	if ended {
		return list, true
	}
	for {
		goesOn, ok := s.more(len(list) == 0)
		if !ok || !goesOn {
			return list, ok
		}
		from := s.at
		n, ok := s.number()
		if !ok {
			return list, false
		}
		v, exact := n.float()
		if !exact {
			parsed, err := strconv.ParseFloat(string(s.data[from:s.at]), 32)
			if err != nil {
				return list, false
			}
			v = float32(parsed)
		}
		list = append(list, v)
	}
}
