package pipe

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"rivulet/trainer/stage"
)

// null is how Spark writes a null.
const null = `\N`

// reader reads records of lines.
type reader struct {
	in     *bufio.Reader
	long   []byte // a line that is longer than the buffer
	fields [][]byte
	row    int64
	count  int64 // records
	ahead  *stage.Record
	last   stage.Record
}

func newReader(in io.Reader) *reader { return &reader{in: bufio.NewReaderSize(in, buffer)} }

// line returns the fields of the next line, valid until the one after it; io.EOF behind the last.
func (r *reader) line(fields int) ([][]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = append(r.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = r.in.ReadSlice('\n')
			r.long = append(r.long, line...)
		}
		line = r.long
	}
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return nil, io.EOF
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	r.row++
	if err != nil {
		return nil, fmt.Errorf("line %d is cut: %w", r.row, io.ErrUnexpectedEOF)
	}
	line = line[:len(line)-1]
	r.fields = r.fields[:0]
	for rest, more := line, true; more; {
		var field []byte
		field, rest, more = bytes.Cut(rest, []byte{'\t'})
		r.fields = append(r.fields, field)
	}
	if len(r.fields) != fields {
		return nil, fmt.Errorf("line %d has %d fields, want %d: is spark.sql.chunkBase64String.enabled false? "+
			"Spark knows it from 3.5.2 on", r.row, len(r.fields), fields)
	}
	return r.fields, nil
}

const recordFields = 4

// Next implements [stage.Records].
func (r *reader) Next() (stage.Record, error) {
	if r.ahead != nil {
		record := *r.ahead
		r.ahead = nil
		return record, nil
	}
	f, err := r.line(recordFields)
	if err != nil {
		return stage.Record{}, err
	}
	key, err1 := strconv.ParseInt(string(f[0]), 10, 64)
	tag, err2 := strconv.ParseInt(string(f[1]), 10, 32)
	order, err3 := decode(f[2])
	payload, err4 := decode(f[3])
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return stage.Record{}, fmt.Errorf("line %d is no record: %w", r.row, err)
	}
	record := stage.Record{Key: key, Tag: int32(tag), Order: order, Payload: payload}
	if r.count > 0 && stage.Compare(r.last, record) > 0 {
		return stage.Record{}, fmt.Errorf("line %d, of key %d, comes before one of key %d: the records are not sorted", r.row,
			key, r.last.Key)
	}
	r.count++
	r.last = stage.Record{Key: key, Tag: record.Tag, Order: order}
	return record, nil
}

func (r *reader) unread(record stage.Record) { r.ahead = &record }

func decode(field []byte) ([]byte, error) {
	if string(field) == null {
		return nil, errors.New("a null")
	}
	return base64.StdEncoding.AppendDecode(make([]byte, 0, len(field)/4*3+3), field)
}

// Summary counts a worker's records.
type Summary struct {
	In    int64   `json:"in"`
	Out   []int64 `json:"out"`   // by output
	Bytes []int64 `json:"bytes"` // of orders and payloads, by output
}

// SummaryOutput is the output of the line of a summary.
const SummaryOutput = -1

// writer writes records as lines.
type writer struct {
	out     *bufio.Writer
	line    []byte
	summary Summary
}

func newWriter(out io.Writer, outputs int) *writer {
	return &writer{out: bufio.NewWriterSize(out, buffer),
		summary: Summary{Out: make([]int64, outputs), Bytes: make([]int64, outputs)}}
}

// Emit implements [stage.Output].
func (w *writer) Emit(output int, r stage.Record) error {
	if output < 0 || output >= len(w.summary.Out) {
		return fmt.Errorf("output %d of a stage with %d", output, len(w.summary.Out))
	}
	w.summary.Out[output]++
	w.summary.Bytes[output] += int64(len(r.Order) + len(r.Payload))
	return w.write(output, r)
}

func (w *writer) write(output int, r stage.Record) error {
	w.line = append(strconv.AppendInt(w.line[:0], int64(output), 10), '\t')
	w.line = append(strconv.AppendInt(w.line, r.Key, 10), '\t')
	w.line = append(base64.StdEncoding.AppendEncode(w.line, r.Order), '\t')
	w.line = append(base64.StdEncoding.AppendEncode(w.line, r.Payload), '\n')
	_, err := w.out.Write(w.line)
	return err
}

// end writes the summary.
func (w *writer) end(in int64) error {
	w.summary.In = in
	text, err := json.Marshal(w.summary)
	if err != nil {
		return err
	}
	if err := w.write(SummaryOutput, stage.Record{Order: text}); err != nil {
		return err
	}
	return w.out.Flush()
}
