package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// literal reads the value of an opcode that pushes one.
func (m *machine) literal(op byte) (any, error) {
	switch op {
	case 'N': // NONE
		return nil, nil
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return op == 0x88, nil
	case 'I', 'L', 'F', 'S', 'V':
		text, err := m.line()
		if err != nil {
			return nil, err
		}
		return parseLine(op, text)
	case 'K': // BININT1
		v, err := m.uint(1)
		return int64(v), err
	case 'M': // BININT2
		v, err := m.uint(2)
		return int64(v), err
	case 'J': // BININT
		v, err := m.uint(4)
		return int64(int32(v)), err
	case 0x8a, 0x8b: // LONG1, LONG4
		b, err := m.counted(lengthSize(op))
		if err != nil {
			return nil, err
		}
		return parseLong(b)
	case 'G': // BINFLOAT
		b, err := m.bytes(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	case 'U', 'T', 'X': // SHORT_BINSTRING, BINSTRING, BINUNICODE
		b, err := m.counted(lengthSize(op))
		if err == nil && op == 'X' && !utf8.Valid(b) {
			err = errors.New("text is not UTF-8")
		}
		return string(b), err
	}
	return nil, errors.New("data sets do not use it")
}

// lengthSize returns the number of bytes of the length behind an opcode.
func lengthSize(op byte) uint32 {
	if op == 'U' || op == 0x8a { // SHORT_BINSTRING, LONG1
		return 1
	}
	return 4
}

// parseLine reads the values of protocol 0, which are text up to the end of the line.
func parseLine(op byte, text []byte) (any, error) {
	switch {
	case op == 'I' && string(text) == "01":
		return true, nil
	case op == 'I' && string(text) == "00":
		return false, nil
	case op == 'I':
		return parseInt(text)
	case op == 'L':
		return parseInt([]byte(strings.TrimSuffix(string(text), "L")))
	case op == 'F':
		v, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return nil, fmt.Errorf("%.40q is not a number", text)
		}
		return v, nil
	case op == 'S':
		return unquote(string(text))
	}
	return rawUnicode(string(text))
}

func parseInt(text []byte) (int64, error) {
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not an integer of 64 bits", text)
	}
	return v, nil
}

// parseLong reads a little-endian number in two's complement, of any length.
func parseLong(b []byte) (int64, error) {
	if len(b) > 8 {
		return 0, fmt.Errorf("an integer of %d bytes, more than 8", len(b))
	}
	v := uint64(0)
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	unused := 64 - 8*len(b)
	return int64(v<<unused) >> unused, nil
}

// unquote reads a string in quotes as Python 2's repr writes it; its escapes are Go's too.
func unquote(text string) (string, error) {
	if len(text) < 2 || (text[0] != '\'' && text[0] != '"') || text[len(text)-1] != text[0] {
		return "", fmt.Errorf("%.40q is not a quoted string", text)
	}
	var out strings.Builder
	for left := text[1 : len(text)-1]; left != ""; {
		if left[0] != '\\' {
			out.WriteByte(left[0])
			left = left[1:]
			continue
		}
		v, _, tail, err := strconv.UnquoteChar(left, text[0])
		if err != nil || v > math.MaxUint8 {
			return "", fmt.Errorf("escape %.4q is not one of Python 2's repr", left)
		}
		out.WriteByte(byte(v))
		left = tail
	}
	return out.String(), nil
}

// rawUnicode reads Python's raw-unicode-escape: Latin-1 with \u000a and \U0001f600.
func rawUnicode(text string) (string, error) {
	var out strings.Builder
	for text != "" {
		if !strings.HasPrefix(text, `\u`) && !strings.HasPrefix(text, `\U`) {
			out.WriteRune(rune(text[0]))
			text = text[1:]
			continue
		}
		v, _, tail, err := strconv.UnquoteChar(text, 0)
		if err != nil {
			return "", fmt.Errorf("escape %.12q is not a code point", text)
		}
		out.WriteRune(v)
		text = tail
	}
	return out.String(), nil
}
