package dataset

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/schema"
)

// Fingerprint returns "sha256:" and 64 hexadecimal digits over graph, features (Columns if they have names, else
// X), labels, classes, roles, ids and [Merged]: two data sets have the same one exactly if they differ in their
// names only. It does not depend on the machine, nor on the form in which the files were stored (item sizes,
// compression, order of columns).
func (d *Dataset) Fingerprint() string {
	sum := sha256.New()
	f := fingerprint{bufio.NewWriterSize(sum, 1<<16)}
	f.texts(d.IDs)
	f.texts(d.Classes)
	f.csr(d.Adj)
	f.flag(d.BagOfWords)
	f.flag(d.Columns == nil && d.X.Sparse != nil)
	switch {
	case d.Columns != nil:
		f.columns(d.Columns)
	case d.X.Sparse != nil:
		f.csr(d.X.Sparse)
	default:
		f.size(d.X.Dense.Rows)
		f.size(d.X.Dense.Cols)
		f.values(d.X.Dense.Data)
	}
	for _, list := range [][]int32{d.Labels, d.Train, d.Unlabelled, d.Validation, d.Test} {
		f.ints(list)
	}
	if !d.Merged.empty() { // at the end, so that data without it keep their fingerprint
		f.merged(&d.Merged)
	}
	if d.Directed != nil {
		f.csr(d.Directed)
	}
	if d.Arriving != 0 {
		f.u32(uint32(d.Arriving))
	}
	if d.Times != nil { // and this
		f.size(len(d.Times))
		for _, v := range d.Times {
			f.u64(math.Float64bits(v))
		}
	}
	if d.Task == target.Links { // and this
		f.texts([]string{d.Task.String()})
		for _, is := range d.Candidates {
			f.flag(is)
		}
	}
	if d.Targets != nil { // and this
		f.texts([]string{d.Task.String()})
		f.values(d.Targets.Data)
	}
	_ = f.Flush() // a hash's Write returns no error
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// fingerprint writes little-endian values, each list behind its length, so no two data sets write the same bytes.
type fingerprint struct{ *bufio.Writer }

func (f fingerprint) u32(v uint32) {
	_, _ = f.Write(binary.LittleEndian.AppendUint32(f.AvailableBuffer(), v))
}

func (f fingerprint) size(n int) { f.u64(uint64(n)) }

func (f fingerprint) u64(v uint64) {
	_, _ = f.Write(binary.LittleEndian.AppendUint64(f.AvailableBuffer(), v))
}

func (f fingerprint) flag(v bool) {
	if v {
		f.u32(1)
	} else {
		f.u32(0)
	}
}

func (f fingerprint) ints(list []int32) {
	f.size(len(list))
	for _, v := range list {
		f.u32(uint32(v))
	}
}

func (f fingerprint) values(list []float32) {
	f.size(len(list))
	for _, v := range list {
		f.u32(math.Float32bits(v))
	}
}

func (f fingerprint) texts(list []string) {
	f.size(len(list))
	for _, s := range list {
		f.size(len(s))
		_, _ = f.WriteString(s)
	}
}

// csr writes a nil Val as ones.
func (f fingerprint) csr(m *graph.CSR) {
	f.size(m.Rows)
	f.size(m.Cols)
	for i := range m.Rows {
		f.ints(m.ColIdx[m.RowPtr[i]:m.RowPtr[i+1]])
	}
	if m.Val != nil {
		f.values(m.Val)
		return
	}
	f.size(m.NNZ())
	for range m.NNZ() {
		f.u32(math.Float32bits(1))
	}
}

// columns writes the values of columns as they are, before a schema.
func (f fingerprint) columns(columns []schema.Column) {
	f.size(len(columns))
	for i := range columns {
		c := &columns[i]
		f.texts([]string{c.Name})
		f.u32(uint32(c.Type))
		f.flag(c.Categorical)
		for k := range c.Len() {
			v := c.At(k)
			f.u32(uint32(v.Type))
			switch v.Type {
			case schema.Number, schema.Bool:
				f.u64(math.Float64bits(v.Number))
			case schema.Text:
				f.texts([]string{v.Text})
			case schema.Vector:
				f.values(v.Vector)
			case schema.Time:
				f.u64(uint64(v.Time.Unix()))
				f.u32(uint32(v.Time.Nanosecond()))
			}
		}
	}
}

func (f fingerprint) merged(m *Merged) {
	f.size(len(m.Waiting))
	for _, w := range m.Waiting {
		f.u32(uint32(w.Node))
		f.texts([]string{w.ID})
		if w.From != "" {
			f.texts([]string{w.From})
		}
	}
	f.ints(m.Labelled)
}
