package json

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
)

// scanner reads an arrival in its plain form: the fields of the contract only, each once, text without escapes.
// Producers write this form, and reading it in one pass takes a fraction of the time of the library's tokens. The
// scanner refuses nothing itself. It gives up if a record is not plain or not right, and then [decoder] reads it from
// the beginning and decides; so both have to agree only on right records, not on faults (TestPlainIsDecoded,
// FuzzDecodeArrival).
type scanner struct {
	data    []byte
	at      int            // the next byte
	ids     []span         // the edges'
	inPlace fields.InPlace // of the arrival's ids
}

// span is data[from:to].
type span struct{ from, to int }

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// scanPlain reads a record into a and reports whether it could. If not, the content of a is undefined.
func scanPlain(data []byte, a *event.Arrival, p fields.InPlace) bool {
	s := scanners.Get().(*scanner)
	s.data, s.at, s.inPlace = data, 0, p
	ok := s.arrival(a)
	s.data = nil
	if cap(s.ids) <= fields.MaxScratch/16 {
		scanners.Put(s)
	}
	return ok
}

// Bits for the members of an object that have been met.
const (
	hasID = 1 << iota
	hasFeatures
	hasEdges
	hasTime
	hasIndices
	hasValues
	hasNamed
	hasWeights
	hasIncoming
	hasEdgeCount
	hasTypes
)

func (s *scanner) arrival(a *event.Arrival) bool {
	fields.BeginArrival(a)
	met, ok := s.object(func(name []byte) (field int, ok bool) {
		switch string(name) {
		case "id":
			id, ok := s.id()
			a.ID = s.inPlace.Text(s.data[id.from:id.to])
			return hasID, ok
		case "features":
			return hasFeatures, s.features(&a.Features)
		case "edges":
			a.Edges, ok = s.edges(a.Edges)
			return hasEdges, ok
		case "weights":
			a.Weights, ok = s.floats(nil)
			return hasWeights, ok
		case "incoming":
			a.Incoming, ok = s.edges(nil)
			return hasIncoming, ok
		case "types":
			a.Types, ok = s.edges(nil)
			return hasTypes, ok
		case "edge_count":
			a.EdgeCount, ok = s.count()
			return hasEdgeCount, ok
		case "time":
			a.Time, ok = s.time()
			return hasTime, ok
		}
		return 0, false
	})
	s.space()
	return ok && met&hasID != 0 && met&hasFeatures != 0 && s.at == len(s.data)
}

// object calls member with the name of each member; member reads its value and returns the field's bit. object
// returns the bits of all.
func (s *scanner) object(member func(name []byte) (field int, ok bool)) (met int, ok bool) {
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
func (s *scanner) space() {
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
func (s *scanner) peek() byte {
	if s.at < len(s.data) && s.data[s.at] > ' ' {
		return s.data[s.at]
	}
	if s.space(); s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

// next passes over c, if it comes next.
func (s *scanner) next(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// more reports whether a list, whose bracket has been read, goes on with an element. first is true before its
// first one. ok is false where neither an element nor the end comes.
func (s *scanner) more(first bool) (goesOn, ok bool) {
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

// text reads a string without escapes, and returns the text between the quotes.
func (s *scanner) text() (span, bool) {
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
// [scanner.more] goes on, as in [scanner.shortIntegers].
func (s *scanner) plainTexts() (ended bool) {
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

// plainUntil returns a place up to which text from i on is ASCII without quotes, escapes and control characters: the
// first other byte, or a place fewer than eight bytes before the end.
func (s *scanner) plainUntil(i int) int {
	for ; i+8 <= len(s.data); i += 8 {
		if other := notPlain(binary.LittleEndian.Uint64(s.data[i:])); other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
	}
	return i
}

// id reads a string that is not empty, or an integer.
func (s *scanner) id() (span, bool) {
	if s.peek() == '"' {
		id, ok := s.text()
		return id, ok && id.from < id.to
	}
	from := s.at
	n, ok := s.number()
	id := span{from, s.at}
	return id, ok && n.whole && !(n.negative && n.digits == 0)
}

// count reads an integer that a field of the kind Count holds.
func (s *scanner) count() (int, bool) {
	s.peek()
	n, ok := s.number()
	return int(n.digits), ok && n.whole && !n.negative && !n.inexact && n.digits <= math.MaxUint32
}

func (s *scanner) edges(edges []string) ([]string, bool) {
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
	all := s.inPlace.Text(s.data[from:s.at])
	for _, id := range s.ids {
		edges = append(edges, all[id.from-from:id.to-from])
	}
	return edges, true
}

func (s *scanner) time() (t time.Time, ok bool) {
	text, ok := s.text()
	if !ok || t.UnmarshalText(s.data[text.from:text.to]) != nil || !connect.InYears(t) {
		return t, false
	}
	return t.UTC(), true
}

func (s *scanner) features(f *event.Features) (ok bool) {
	if s.peek() == '[' {
		values, ok := s.floats(f.Values[:0])
		*f = event.Features{Values: values}
		return ok
	}
	f.Sparse = true
	met, ok := s.object(func(name []byte) (field int, ok bool) {
		switch string(name) {
		case "indices":
			f.Indices, ok = s.indices(f.Indices[:0])
			return hasIndices, ok
		case "values":
			f.Values, ok = s.floats(f.Values[:0])
			return hasValues, ok
		case "named":
			return hasNamed, s.named(f)
		}
		return 0, false
	})
	if ok && met == hasNamed {
		fields.SetNamed(f, f.Named)
		return true
	}
	f.Named = nil
	if !ok || met&hasNamed != 0 || met&hasIndices == 0 {
		return false
	}
	if met&hasValues == 0 {
		fields.SetOnes(f)
	}
	return fields.Order(f) == nil
}

func (s *scanner) indices(list []int32) ([]int32, bool) {
	if !s.next('[') {
		return list, false
	}
	for alone := 8; ; alone *= 2 {
		var ended bool
		if list, ended = s.integers(list); ended {
			return list, true
		}
		for range alone { // as in floats
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
}

func (s *scanner) floats(list []float32) ([]float32, bool) {
	if !s.next('[') {
		return list, false
	}
	for alone := 8; ; alone *= 2 {
		var ended bool
		if list, ended = s.decimals(list); ended {
			return list, true
		}
		for range alone { // one is not short; others behind it may be like it
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
}
