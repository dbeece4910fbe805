package app

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rivulet/consumer"
	"rivulet/consumer/limits"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/event/json"
	"rivulet/kafka"
)

// LineOptions say how JSON lines are predicted.
type LineOptions struct {
	Mode   consumer.Mode
	Batch  int // lines of a batch, at least 1
	Forms  form.Reader
	Limits limits.Limits
	// Features has the features of lines that bring none; nil: these are rejected.
	Features consumer.FeatureStore
	// IgnoreUnknown passes over features whose names the version's schema does not have; else the line is rejected.
	IgnoreUnknown bool
	Output        consumer.Output
	// Rejected is told of each line that cannot be predicted; line counts from 1.
	Rejected func(line int64, d *event.DeadLetter)
}

// PredictLines reads arrivals as JSON lines and writes predictions as JSON lines, in order, on the same path that the
// consumer takes. It returns how many lines were predicted and how many were rejected. Empty lines are passed over, and
// so are changes of Debezium that leave no row. ctx ends it also while r gives nothing. Predictions made before an
// error are written.
func PredictLines(ctx context.Context, versions consumer.Versions, r io.Reader, w io.Writer,
	o LineOptions) (predicted, rejected int, err error) {
	out := &lineWriter{w: bufio.NewWriter(w), rejected: o.Rejected}
	defer func() { err = errors.Join(err, out.w.Flush()) }()
	pipeline, err := consumer.NewPipeline(consumer.PipelineOptions{Versions: versions, Deliverer: out, Mode: o.Mode,
		Forms: o.Forms, Features: o.Features, IgnoreUnknown: o.IgnoreUnknown, Limits: o.Limits, Output: o.Output})
	if err != nil {
		return 0, 0, err
	}
	err = eachBatch(ctx, r, &o, func(name string, records []kafka.Record) error {
		return pipeline.Process(ctx, consumer.Intake{Name: name, Records: records})
	})
	return out.predicted, out.dead, err
}

// eachBatch reads lines and calls process with so many of them as records, whose offsets are the lines' numbers. The
// records are process's until it returns.
func eachBatch(ctx context.Context, r io.Reader, o *LineOptions,
	process func(name string, records []kafka.Record) error) error {
	in := bufio.NewReaderSize(&interruptible{ctx: ctx, r: r}, 1<<20)
	headers := o.Forms.LineHeaders()
	var records []kafka.Record
	flush := func(line int64) error {
		if len(records) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		err := process(fmt.Sprintf("lines-%d", line), records)
		records = records[:0]
		return err
	}
	for line := int64(1); ; line++ {
		text, readErr := in.ReadBytes('\n')
		if readErr != nil && readErr != io.EOF {
			return fmt.Errorf("reading line %d: %w", line, readErr)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			records = append(records, kafka.Record{Value: text, Headers: headers, Position: kafka.Position{Offset: line}})
		}
		if len(records) == o.Batch || readErr == io.EOF {
			if err := flush(line); err != nil {
				return fmt.Errorf("predicting up to line %d: %w", line, err)
			}
		}
		if readErr == io.EOF {
			return nil
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

// lineWriter delivers to a stream of lines.
type lineWriter struct {
	w               *bufio.Writer
	rejected        func(int64, *event.DeadLetter)
	buf             []byte
	predicted, dead int
	at              time.Time // when the last batch was written
}

// Publish writes the predictions of a batch; there is nothing to commit.
func (l *lineWriter) Publish(_ context.Context, b event.Batch, _ kafka.Offsets,
	_ kafka.Committer) (kafka.Delivery, error) {
	for i := range b.DeadLetters {
		l.dead++
		if l.rejected != nil {
			l.rejected(b.DeadLetters[i].Source.Offset, &b.DeadLetters[i])
		}
	}
	for i := range b.Predictions {
		var err error
		if l.buf, err = (json.Codec{}).AppendPrediction(l.buf[:0], &b.Predictions[i]); err != nil {
			return nil, fmt.Errorf("encoding the prediction of %q: %w", b.Predictions[i].ID, err)
		}
		if _, err := l.w.Write(append(l.buf, '\n')); err != nil {
			return nil, fmt.Errorf("writing the prediction of %q: %w", b.Predictions[i].ID, err)
		}
		l.predicted++
	}
	l.at = time.Now()
	return l, nil
}

func (l *lineWriter) Commit(context.Context) error { return nil }

func (l *lineWriter) Abort(context.Context) error { return nil }

func (l *lineWriter) Published() time.Time { return l.at }

func (l *lineWriter) Refused() []kafka.Refusal { return nil }
