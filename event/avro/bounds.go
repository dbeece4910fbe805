package avro

import (
	"encoding/binary"

	"github.com/twmb/avro"

	"rivulet/event"
	"rivulet/event/fields"
)

// maxDepth bounds the nesting of values: a type may contain itself.
const maxDepth = 64

// bounder walks a record before the library decodes it, and refuses one that would cost far more than its bytes. The
// library bounds the count of one array. It does not bound what all of them become: an array of 4,096 records of nulls
// takes three bytes and as many maps, and an array in blocks of one element each, 256 KiB in all, is copied for each
// block, 5 GB in all. It also believes the length of a block that it passes over: one with another length would hide
// what is behind it from the walk.
type bounder struct {
	*Schema
	data []byte
	at   int
	// left is the number of further values that may be read, counting those that take no bytes, and copies how many
	// elements of arrays may be copied when they grow by a block.
	left, copies int
}

// check refuses a record that ends too early, and one beyond the bounds.
func (s *Schema) check(data []byte) error {
	values := 4*len(data) + 8*s.types + 64
	b := bounder{s, data, 0, values, 16 * values}
	return b.walk(s.root, 0)
}

// walk passes over a value.
func (b *bounder) walk(n *avro.SchemaNode, depth int) (err error) {
	if depth > maxDepth {
		return event.Errorf(event.ReasonUnparsable, "", "values lie deeper in one another than %d (byte %d)", maxDepth, b.at)
	}
	if b.left--; b.left < 0 {
		return b.tooMany()
	}
	switch n.Type {
	case "null":
		return nil
	case "boolean", "float", "double":
		return b.pass(sizes[n.Type])
	case "int", "long":
		_, err = b.long()
		return err
	case "bytes", "string":
		return b.text()
	case "array":
		return b.blocks(n.Items, false, depth)
	case "map":
		return b.blocks(n.Values, true, depth)
	case "union":
		i, err := b.long()
		if err != nil {
			return err
		}
		if i < 0 || i >= int64(len(n.Branches)) {
			return event.Errorf(event.ReasonUnparsable, "", "%d is no branch of the union, which has %d (byte %d)", i,
				len(n.Branches), b.at)
		}
		return b.walk(&n.Branches[i], depth)
	}
	switch n = b.follow(n); n.Type {
	case "enum":
		_, err = b.long()
	case "fixed":
		err = b.pass(int64(n.Size))
	default:
		for i := range n.Fields {
			if err := b.walk(&n.Fields[i].Type, depth+1); err != nil {
				return fields.Inside(n.Fields[i].Name, err)
			}
		}
	}
	return err
}

// sizes are the bytes of types that always have as many.
var sizes = map[string]int64{"boolean": 1, "float": 4, "double": 8}

// blocks passes over an array or a map.
func (b *bounder) blocks(n *avro.SchemaNode, isMap bool, depth int) error {
	for all := 0; ; {
		count, err := b.long()
		if err != nil || count == 0 {
			return err
		}
		length, told := int64(0), count < 0
		if told {
			if length, err = b.long(); err != nil {
				return err
			}
			count = -count
		}
		begin := b.at
		if b.copies -= all; count < 0 || count > int64(b.left) || b.copies < 0 {
			return b.tooMany()
		}
		all += int(count)
		if size := sizes[n.Type]; size > 0 && !isMap { // numbers are passed over at once
			b.left -= int(count)
			err = b.pass(size * count)
		} else {
			err = b.elements(n, count, isMap, depth)
		}
		if err != nil {
			return err
		}
		if has := int64(b.at - begin); told && length != has { // the library passes over a block by its length
			return event.Errorf(event.ReasonUnparsable, "", "a block says that it has %d bytes, and has %d (byte %d)", length,
				has, b.at)
		}
	}
}

// elements passes over the elements of a block.
func (b *bounder) elements(n *avro.SchemaNode, count int64, isMap bool, depth int) error {
	for range count {
		if isMap {
			if err := b.text(); err != nil {
				return err
			}
		}
		if err := b.walk(n, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (b *bounder) text() error {
	n, err := b.long()
	if err != nil {
		return err
	}
	return b.pass(n)
}

// long reads a zig-zag integer of up to 64 bits.
func (b *bounder) long() (int64, error) {
	if b.at < len(b.data) && b.data[b.at] < 1<<7 { // one byte
		u := b.data[b.at]
		b.at++
		return int64(u>>1) ^ -int64(u&1), nil
	}
	u, n := binary.Uvarint(b.data[b.at:])
	switch {
	case n == 0:
		return 0, b.short()
	case n < 0:
		return 0, event.Errorf(event.ReasonUnparsable, "", "an integer of more than 64 bits (byte %d)", b.at)
	}
	b.at += n
	return int64(u>>1) ^ -int64(u&1), nil
}

// pass passes over bytes.
func (b *bounder) pass(n int64) error {
	if n < 0 || n > int64(len(b.data)-b.at) {
		return b.short()
	}
	b.at += int(n)
	return nil
}

func (b *bounder) short() error {
	return event.Errorf(event.ReasonUnparsable, "", "the record ends inside of it (byte %d)", b.at)
}

func (b *bounder) tooMany() error {
	return event.Errorf(event.ReasonUnparsable, "", "more values than a record of %d bytes may have (byte %d)",
		len(b.data), b.at)
}
