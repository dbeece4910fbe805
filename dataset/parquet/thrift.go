package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	maxDepth    = 32      // of structs and lists in one another
	maxStructs  = 1 << 20 // structs in lists of one footer: a thousand columns in a thousand row groups
	maxChildren = 1 << 16 // columns of a schema
)

// skim walks a struct of Thrift's compact protocol, which frames everything in a Parquet file, without decoding it. Every
// declared length is checked against the bytes that are left.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type skim struct {
	in      []byte
	pos     int
	structs int      // in lists, so far
	listed  int      // lists and maps around the value, within the innermost struct
	path    [2]int16 // ids of the outer two fields that are being walked
	// visit gets integers and bools of the outer two structs, and the lengths of their lists.
	visit func(path [2]int16, value int64)
}

var errThrift = errors.New("malformed metadata")

func (s *skim) left() int { return len(s.in) - s.pos }

func (s *skim) byte() (byte, error) {
	if s.left() == 0 {
		return 0, fmt.Errorf("%w: it ends too early", errThrift)
	}
	b := s.in[s.pos]
	s.pos++
	return b, nil
}

func (s *skim) uvarint() (uint64, error) {
	v, n := binary.Uvarint(s.in[s.pos:])
	if n <= 0 {
		return 0, fmt.Errorf("%w: no number at byte %d", errThrift, s.pos)
	}
	s.pos += n
	return v, nil
}

func (s *skim) varint() (int64, error) {
	v, err := s.uvarint()
	return int64(v>>1) ^ -int64(v&1), err
}

func (s *skim) skip(n uint64) error {
	if n > uint64(s.left()) {
		return fmt.Errorf("%w: %d bytes declared, %d left", errThrift, n, s.left())
	}
	s.pos += int(n)
	return nil
}

// structure walks fields up to the stop byte.
func (s *skim) structure(depth int) error {
	id := int16(0)
	for {
		head, err := s.byte()
		if err != nil || head == 0 {
			return err
		}
		if delta := int16(head >> 4); delta != 0 {
			id += delta
		} else {
			v, err := s.varint()
			if err != nil {
				return err
			}
			id = int16(v)
		}
		if s.listed == 0 && depth < len(s.path) {
			s.path[depth] = id
			clear(s.path[depth+1:])
		}
		if err := s.value(head&0xf, depth); err != nil {
			return err
		}
	}
}

// value walks one value of a struct at this depth.
func (s *skim) value(kind byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: values in values beyond %d", errThrift, maxDepth)
	}
	switch kind {
	case 1, 2: // true and false as the type of a field; a byte in a list
		if s.listed > 0 {
			return s.skip(1)
		}
		s.report(depth, int64(2-kind))
		return nil
	case 3:
		return s.skip(1)
	case 4, 5, 6:
		v, err := s.varint()
		s.report(depth, v)
		return err
	case 7:
		return s.skip(8)
	case 8:
		n, err := s.uvarint()
		if err != nil {
			return err
		}
		return s.skip(n)
	case 9, 10:
		return s.list(depth)
	case 11:
		return s.dictionary(depth)
	case 12:
		listed := s.listed
		if listed > 0 { // its own bools are in its fields' types again, but its values are not to be reported
			depth = max(depth, len(s.path))
		}
		s.listed = 0
		err := s.structure(depth + 1)
		s.listed = listed
		return err
	}
	return fmt.Errorf("%w: type %d at byte %d", errThrift, kind, s.pos)
}

func (s *skim) report(depth int, v int64) {
	if s.listed == 0 && depth < len(s.path) && s.visit != nil {
		s.visit(s.path, v)
	}
}

func (s *skim) list(depth int) error {
	head, err := s.byte()
	if err != nil {
		return err
	}
	kind, size := head&0xf, uint64(head>>4)
	if size == 15 {
		if size, err = s.uvarint(); err != nil {
			return err
		}
	}
	if kind == 12 {
		if s.structs += int(min(size, maxStructs+1)); s.structs > maxStructs {
			return fmt.Errorf("%w: more than %d structs in lists", errThrift, maxStructs)
		}
	}
	s.report(depth, int64(size))
	return s.elements(size, depth, kind)
}

func (s *skim) dictionary(depth int) error {
	size, err := s.uvarint()
	if err != nil || size == 0 {
		return err
	}
	kinds, err := s.byte()
	if err != nil {
		return err
	}
	return s.elements(size, depth, kinds>>4, kinds&0xf)
}

// elements walks as many times the given types in turn.
func (s *skim) elements(size uint64, depth int, kinds ...byte) error {
	if size > uint64(s.left()) { // each has a byte at least
		return fmt.Errorf("%w: %d elements in %d bytes", errThrift, size, s.left())
	}
	s.listed++
	defer func() { s.listed-- }()
	for range size {
		for _, kind := range kinds {
			if err := s.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
