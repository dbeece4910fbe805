package run

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/read"
	"rivulet/infer/attach"
	"rivulet/internal/gather"
	"rivulet/kafka"
)

// LineOptions say how JSON lines are predicted.
type LineOptions struct {
	Mode   *attach.Mode
	Batch  int // lines of a batch, at least 1
	Forms  read.Reader
	Limits event.Limits
	// Features has the features of lines that bring none; nil: these are rejected.
	Features consumer.FeatureStore
	// IgnoreUnknown passes over features whose names the version's schema does not have; else the line is rejected.
	IgnoreUnknown bool
	Output        consumer.Output
	// Rejected is told of each line that cannot be predicted; line counts from 1.
	Rejected func(line int64, d *event.DeadLetter)
}

// PredictLines reads arrivals as JSON lines and writes predictions to w as JSON lines, in order, on the same path that
// the consumer takes. It returns how many were predicted and how many were rejected. Empty lines are passed over, and
// so are changes of Debezium that leave no row. ctx ends it also while r gives nothing. Predictions made before an
// error are written.
func PredictLines(ctx context.Context, versions consumer.Versions, r io.Reader, w io.Writer,
	o LineOptions) (predicted, rejected int, err error) {
	out := &fileDeliverer{w: bufio.NewWriter(w), rejected: o.Rejected, counts: &Counts{}}
	defer func() { err = errors.Join(err, out.w.Flush()) }()
	pipeline, err := consumer.NewPipeline(consumer.PipelineOptions{Versions: versions, Deliverer: out, Mode: o.Mode,
		Forms: o.Forms, Features: o.Features, IgnoreUnknown: o.IgnoreUnknown, Limits: o.Limits, Output: o.Output})
	if err != nil {
		return 0, 0, err
	}
	err = eachBatch(ctx, r, &o, func(name string, records []kafka.Record) error {
		return pipeline.Process(ctx, consumer.Intake{Name: name, Records: records})
	})
	return out.counts.Predicted, out.counts.Rejected, err
}

// eachBatch reads lines and calls process with so many of them as records, whose offsets are the lines' numbers. The
// records are process's until it returns.
func eachBatch(ctx context.Context, r io.Reader, o *LineOptions,
	process func(name string, records []kafka.Record) error) error {
	headers := read.LineHeaders()
	line := int64(0)
	batch := gather.Batch[kafka.Record]{Bounds: gather.Bounds{Records: o.Batch},
		Do: func(ctx context.Context, records []kafka.Record) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return process(fmt.Sprintf("lines-%d", line), records)
		}}
	in := bufio.NewReaderSize(&interruptible{ctx: ctx, r: r}, 1<<20)
	for {
		text, readErr := readLine(in)
		if errors.Is(readErr, errLongLine) {
			// the lines before it are answered first
			return cmp.Or(batch.Flush(ctx), fmt.Errorf("line %d %w: want an arrival a line", line+1, errLongLine))
		}
		line++
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return fmt.Errorf("reading line %d: %w", line, readErr)
		}
		var err error
		if text = bytes.TrimSpace(text); len(text) > 0 {
			err = batch.Add(ctx, kafka.Record{Value: text, Headers: headers, Position: kafka.Position{Offset: line}})
		}
		if err == nil && readErr != nil {
			err = batch.Flush(ctx)
		}
		if err != nil {
			return fmt.Errorf("predicting up to line %d: %w", line, err)
		}
		if readErr != nil {
			return nil
		}
	}
}

// maxLine is the longest line that is read, in bytes: a record of Kafka is no longer either.
const maxLine = 64 << 20

var errLongLine = fmt.Errorf("has more than %d bytes", maxLine)

// readLine returns the next line with its end, in memory of its own.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, errLongLine
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// interruptible is a reader whose Read ends with ctx. A read of a terminal or a pipe that is then under way cannot be
// ended: its goroutine stays until data come, which are discarded.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	own := make([]byte, min(len(p), 64<<10)) // p is the caller's again when ctx has ended
	go func() {
		n, err := i.r.Read(own)
		done <- result{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, own[:got.n]), got.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}

// fileDeliverer writes predictions as JSON lines; there is nothing to commit.
type fileDeliverer struct {
	w        *bufio.Writer
	line     []byte
	rejected func(int64, *event.DeadLetter)
	counts   *Counts
}

// Counts are the outcomes of a batch outside of any stream.
type Counts struct {
	Predicted, Rejected int
	Degraded            int // of the predictions: they may differ from those of the same records at another time
	Skipped             int // records that are no arrivals
}

// take counts a batch. line is told of each dead letter.
func (c *Counts) take(b *event.Batch, rejected func(int64, *event.DeadLetter)) {
	c.Predicted, c.Rejected = c.Predicted+len(b.Predictions), c.Rejected+len(b.DeadLetters)
	for i := range b.Predictions {
		if b.Predictions[i].Degraded {
			c.Degraded++
		}
	}
	for i := range b.DeadLetters {
		if rejected != nil {
			rejected(b.DeadLetters[i].Source.Offset, &b.DeadLetters[i])
		}
	}
}

// Publish writes the predictions of a batch.
func (f *fileDeliverer) Publish(_ context.Context, b event.Batch, _ kafka.Offsets) ([]kafka.Refusal, error) {
	f.counts.take(&b, f.rejected)
	for i := range b.Predictions {
		p := &b.Predictions[i]
		var err error
		if f.line, err = (json.Codec{}).AppendPrediction(f.line[:0], p); err != nil {
			return nil, fmt.Errorf("encoding the prediction of %q: %w", p.ID, err)
		}
		if _, err := f.w.Write(append(f.line, '\n')); err != nil {
			return nil, fmt.Errorf("writing the prediction of %q: %w", p.ID, err)
		}
	}
	return nil, nil
}
