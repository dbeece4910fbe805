package app

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/internal/kafka"
)

// LineOptions say how JSON lines are predicted.
type LineOptions struct {
	Mode   consumer.Mode
	Batch  int // lines of a batch, at least 1
	Limits consumer.Limits
	Output consumer.Output
	// Rejected is told of each line that cannot be predicted; line counts from 1.
	Rejected func(line int64, d *event.DeadLetter)
}

// PredictLines reads arrivals as JSON lines and writes predictions as JSON lines, in order, on the same path that the
// consumer takes. It returns how many lines were predicted and how many were rejected. Empty lines are passed over.
func PredictLines(ctx context.Context, versions consumer.Versions, r io.Reader, w io.Writer, o LineOptions) (predicted, rejected int, err error) {
	out := &lineWriter{w: bufio.NewWriter(w), rejected: o.Rejected}
	pipeline, err := consumer.NewPipeline(consumer.PipelineOptions{Versions: versions, Deliverer: out, Mode: o.Mode,
		Limits: o.Limits, Output: o.Output})
	if err != nil {
		return 0, 0, err
	}
	in := bufio.NewReaderSize(r, 1<<20)
	var records []kafka.Record
	flush := func(line int64) error {
		if len(records) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		err := pipeline.Process(ctx, consumer.Intake{Name: fmt.Sprintf("lines-%d", line), Records: records})
		records = records[:0]
		return err
	}
	for line := int64(1); ; line++ {
		text, readErr := in.ReadBytes('\n')
		if readErr != nil && readErr != io.EOF {
			return out.predicted, out.dead, fmt.Errorf("reading line %d: %w", line, readErr)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			records = append(records, kafka.Record{Value: text, Position: kafka.Position{Offset: line}})
		}
		if len(records) == o.Batch || readErr == io.EOF {
			if err := flush(line); err != nil {
				return out.predicted, out.dead, fmt.Errorf("predicting up to line %d: %w", line, err)
			}
		}
		if readErr == io.EOF {
			return out.predicted, out.dead, out.w.Flush()
		}
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
func (l *lineWriter) Publish(_ context.Context, b event.Batch, _ kafka.Offsets, _ kafka.Committer) (kafka.Delivery, error) {
	for i := range b.DeadLetters {
		l.dead++
		if l.rejected != nil {
			l.rejected(b.DeadLetters[i].Source.Offset, &b.DeadLetters[i])
		}
	}
	for i := range b.Predictions {
		var err error
		if l.buf, err = (event.JSON{}).AppendPrediction(l.buf[:0], &b.Predictions[i]); err != nil {
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

func (l *lineWriter) Refused() []kafka.Refused { return nil }
