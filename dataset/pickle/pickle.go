package pickle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

var errEnd = errors.New("the pickle ends too early")

// Load returns the value of a pickle, which must be all of in. Strings of the value share no memory with in.
func Load(in []byte) (any, error) {
	m := &machine{in: in, memo: map[uint32]any{}}
	for {
		offset := m.pos
		op, err := m.byte()
		if err != nil {
			return nil, fmt.Errorf("at %d: %w", offset, err)
		}
		if op == '.' {
			if len(m.stack) != 1 || len(m.marks) != 0 || m.pos != len(in) {
				return nil, fmt.Errorf("STOP at %d leaves %d values, %d marks and %d bytes", offset, len(m.stack),
					len(m.marks), len(in)-m.pos)
			}
			return m.stack[0], nil
		}
		if err := m.step(op); err != nil {
			return nil, fmt.Errorf("opcode %q at %d: %w", op, offset, err)
		}
	}
}

// machine is a pickle machine: a stack of values, marks into it, and a memo.
type machine struct {
	in      []byte
	pos     int
	stack   []any
	marks   []int // lengths of the stack
	memo    map[uint32]any
	encoded int // bytes made by _codecs.encode
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

// pop takes the top value. Values below the last mark belong to an opcode that is still to come.
func (m *machine) pop() (any, error) {
	if len(m.stack) == 0 || (len(m.marks) > 0 && len(m.stack) == m.marks[len(m.marks)-1]) {
		return nil, errors.New("the stack is empty")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

// popMark takes all values above the last mark.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, errors.New("no mark is set")
	}
	mark := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	items := append([]any(nil), m.stack[mark:]...)
	m.stack = m.stack[:mark]
	return items, nil
}

func (m *machine) top() (any, error) {
	v, err := m.pop()
	if err == nil {
		m.push(v)
	}
	return v, err
}

func (m *machine) byte() (byte, error) {
	b, err := m.bytes(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (m *machine) bytes(n uint32) ([]byte, error) {
	if uint64(n) > uint64(len(m.in)-m.pos) {
		return nil, fmt.Errorf("%d bytes declared, %d left: %w", n, len(m.in)-m.pos, errEnd)
	}
	b := m.in[m.pos : m.pos+int(n)]
	m.pos += int(n)
	return b, nil
}

// uint reads an unsigned little-endian number of 1, 2 or 4 bytes.
func (m *machine) uint(size uint32) (uint32, error) {
	b, err := m.bytes(size)
	if err != nil {
		return 0, err
	}
	var wide [4]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint32(wide[:]), nil
}

// counted reads a length of size bytes and then as many bytes.
func (m *machine) counted(size uint32) ([]byte, error) {
	n, err := m.uint(size)
	if err != nil {
		return nil, err
	}
	return m.bytes(n)
}

// line reads up to the next line feed.
func (m *machine) line() ([]byte, error) {
	n := bytes.IndexByte(m.in[m.pos:], '\n')
	if n < 0 {
		return nil, errEnd
	}
	b := m.in[m.pos : m.pos+n]
	m.pos += n + 1
	return b, nil
}

// step executes one opcode other than STOP.
func (m *machine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		version, err := m.byte()
		if err == nil && version > 2 {
			err = fmt.Errorf("protocol %d, want 0, 1 or 2", version)
		}
		return err
	case '(': // MARK
		m.marks = append(m.marks, len(m.stack))
		return nil
	case 'c': // GLOBAL
		return m.global()
	case 'R', 0x81: // REDUCE, NEWOBJ
		return m.call()
	case 'b': // BUILD
		state, err := m.pop()
		if err != nil {
			return err
		}
		value, err := m.top()
		if err != nil {
			return err
		}
		return build(value, state)
	case 'p', 'q', 'r', 'g', 'h', 'j':
		return m.remember(op)
	case ')', 't', 0x85, 0x86, 0x87, ']', 'l', 'a', 'e', '}', 'd', 's', 'u':
		return m.collect(op)
	}
	v, err := m.literal(op)
	if err != nil {
		return err
	}
	m.push(v)
	return nil
}

func (m *machine) global() error {
	module, err := m.line()
	if err != nil {
		return err
	}
	name, err := m.line()
	if err != nil {
		return err
	}
	g, ok := globals[string(module)+" "+string(name)]
	if !ok {
		return fmt.Errorf("global %.60q of module %.60q is not one that data sets use", name, module)
	}
	m.push(g)
	return nil
}

func (m *machine) call() error {
	top, err := m.pop()
	if err != nil {
		return err
	}
	args, ok := top.(Tuple)
	if !ok {
		return fmt.Errorf("arguments are %T, want a tuple", top)
	}
	callable, err := m.pop()
	if err != nil {
		return err
	}
	v, err := m.reduce(callable, args)
	if err != nil {
		return err
	}
	m.push(v)
	return nil
}

// remember executes the opcodes of the memo.
func (m *machine) remember(op byte) error {
	var key uint32
	var err error
	switch op {
	case 'p', 'g': // PUT, GET
		key, err = m.decimalKey()
	case 'q', 'h': // BINPUT, BINGET
		key, err = m.uint(1)
	case 'r', 'j': // LONG_BINPUT, LONG_BINGET
		key, err = m.uint(4)
	}
	if err != nil {
		return err
	}
	if op == 'p' || op == 'q' || op == 'r' {
		m.memo[key], err = m.top()
		return err
	}
	v, ok := m.memo[key]
	if !ok {
		return fmt.Errorf("nothing was remembered as %d", key)
	}
	m.push(v)
	return nil
}

func (m *machine) decimalKey() (uint32, error) {
	text, err := m.line()
	if err != nil {
		return 0, err
	}
	v, err := parseInt(text)
	if err != nil || v < 0 || v > math.MaxUint32 {
		return 0, fmt.Errorf("memo key %.20q", text)
	}
	return uint32(v), nil
}
