// Package digest hashes values of a data set: little-endian, each list behind its length, so that no two data sets
// write the same bytes.
package digest

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"

	"rivulet/graph"
	"rivulet/schema"
)

// Writer takes the values.
type Writer struct {
	out *bufio.Writer
	sum hash.Hash
}

// New returns a writer that has taken nothing.
func New() Writer {
	sum := sha256.New()
	return Writer{bufio.NewWriterSize(sum, 1<<16), sum}
}

// Sum returns the hash of all values as text.
func (w Writer) Sum() string {
	_ = w.out.Flush() // a hash's Write returns no error
	return "sha256:" + hex.EncodeToString(w.sum.Sum(nil))
}

// U32 adds a number.
func (w Writer) U32(v uint32) {
	_, _ = w.out.Write(binary.LittleEndian.AppendUint32(w.out.AvailableBuffer(), v))
}

// Size adds the length of a list.
func (w Writer) Size(n int) { w.U64(uint64(n)) }

// U64 adds a number.
func (w Writer) U64(v uint64) {
	_, _ = w.out.Write(binary.LittleEndian.AppendUint64(w.out.AvailableBuffer(), v))
}

// Flag adds 1 or 0.
func (w Writer) Flag(v bool) {
	if v {
		w.U32(1)
	} else {
		w.U32(0)
	}
}

// Ints adds a list.
func (w Writer) Ints(list []int32) {
	w.Size(len(list))
	for _, v := range list {
		w.U32(uint32(v))
	}
}

// Values adds a list.
func (w Writer) Values(list []float32) {
	w.Size(len(list))
	for _, v := range list {
		w.U32(math.Float32bits(v))
	}
}

// Texts adds a list.
func (w Writer) Texts(list []string) {
	w.Size(len(list))
	for _, s := range list {
		w.Size(len(s))
		_, _ = w.out.WriteString(s)
	}
}

// Matrix adds a matrix; a nil Val counts as ones.
func (w Writer) Matrix(m *graph.CSR) {
	w.Size(m.Rows)
	w.Size(m.Cols)
	for i := range m.Rows {
		w.Ints(m.ColIdx[m.RowPtr[i]:m.RowPtr[i+1]])
	}
	if m.Val != nil {
		w.Values(m.Val)
		return
	}
	w.Size(m.NNZ())
	for range m.NNZ() {
		w.U32(math.Float32bits(1))
	}
}

// Columns adds the values of columns as they are, before a schema.
func (w Writer) Columns(columns []schema.Column) {
	w.Size(len(columns))
	for i := range columns {
		c := &columns[i]
		w.Texts([]string{c.Name})
		w.U32(uint32(c.Type))
		w.Flag(c.Categorical)
		for k := range c.Len() {
			v := c.At(k)
			w.U32(uint32(v.Type))
			switch v.Type {
			case schema.Number, schema.Bool:
				w.U64(math.Float64bits(v.Number))
			case schema.Text:
				w.Texts([]string{v.Text})
			case schema.Vector:
				w.Values(v.Vector)
			case schema.Time:
				w.U64(uint64(v.Time.Unix()))
				w.U32(uint32(v.Time.Nanosecond()))
			}
		}
	}
}
