package connect

import (
	"encoding/binary"
	"errors"
)

// errArrow says that a batch is not an Arrow stream of one column of strings without nulls.
var errArrow = errors.New("spark connect: the answer is no column of strings in Arrow's form")

// strings of an Arrow IPC stream's first column
// (https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format): messages of a length, metadata as a
// FlatBuffer, and a body. Broken bytes are an error, never a panic.
func arrowStrings(b []byte) (out []string, err error) {
	defer func() {
		if recover() != nil { // an offset that leads out of the bytes
			out, err = nil, errArrow
		}
	}()
	const continuation = 0xffffffff
	for len(b) > 0 {
		n := binary.LittleEndian.Uint32(b)
		b = b[4:]
		if n == continuation {
			n = binary.LittleEndian.Uint32(b)
			b = b[4:]
		}
		if n == 0 {
			return out, nil
		}
		message := root(b[:n])
		b = b[n:]
		size := message.int64(slotBodyLength)
		body := b[:size:size]
		b = b[size:]
		if message.byte(slotHeaderType) != headerRecordBatch {
			continue
		}
		values, err := column(message.table(slotHeader), body)
		if err != nil {
			return nil, err
		}
		out = append(out, values...)
	}
	return out, nil
}

// Slots of the FlatBuffers Message and RecordBatch of Arrow's Message.fbs.
const (
	slotHeaderType    = 1
	slotHeader        = 2
	slotBodyLength    = 3
	headerRecordBatch = 3
	slotRows          = 0
	slotNodes         = 1
	slotBuffers       = 2
	slotCompression   = 3
	bufferBytes       = 16 // offset and length
)

// column reads the buffers of a column of utf8: validity, int32 offsets, text.
func column(batch flat, body []byte) ([]string, error) {
	rows := batch.int64(slotRows)
	buffers, count := batch.vector(slotBuffers)
	nodes, columns := batch.vector(slotNodes)
	if batch.field(slotCompression) != 0 || count < 3 || columns < 1 || rows < 0 {
		return nil, errArrow
	}
	if nulls := binary.LittleEndian.Uint64(batch.b[nodes+8:]); nulls != 0 {
		return nil, errArrow
	}
	buffer := func(i int) []byte {
		at := batch.b[buffers+bufferBytes*i:]
		offset, length := binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:])
		return body[offset:][:length]
	}
	offsets, text := buffer(1), buffer(2)
	out := make([]string, 0, min(rows, int64(len(offsets)/4)))
	for i := range rows {
		from, to := binary.LittleEndian.Uint32(offsets[4*i:]), binary.LittleEndian.Uint32(offsets[4*i+4:])
		out = append(out, string(text[from:to]))
	}
	return out, nil
}

// flat is a table of a FlatBuffer.
type flat struct {
	b  []byte
	at int
}

func root(b []byte) flat { return flat{b, int(binary.LittleEndian.Uint32(b))} }

// field is the position of a field, 0 if it is not set.
func (f flat) field(slot int) int {
	vtable := f.at - int(int32(binary.LittleEndian.Uint32(f.b[f.at:])))
	if 4+2*slot >= int(binary.LittleEndian.Uint16(f.b[vtable:])) {
		return 0
	}
	offset := int(binary.LittleEndian.Uint16(f.b[vtable+4+2*slot:]))
	if offset == 0 {
		return 0
	}
	return f.at + offset
}

func (f flat) byte(slot int) byte {
	if at := f.field(slot); at != 0 {
		return f.b[at]
	}
	return 0
}

func (f flat) int64(slot int) int64 {
	if at := f.field(slot); at != 0 {
		return int64(binary.LittleEndian.Uint64(f.b[at:]))
	}
	return 0
}

func (f flat) table(slot int) flat {
	at := f.field(slot)
	return flat{f.b, at + int(binary.LittleEndian.Uint32(f.b[at:]))}
}

// vector is the position of a vector's first element, and their number.
func (f flat) vector(slot int) (at, count int) {
	if at = f.field(slot); at == 0 {
		return 0, 0
	}
	at += int(binary.LittleEndian.Uint32(f.b[at:]))
	return at + 4, int(binary.LittleEndian.Uint32(f.b[at:]))
}
