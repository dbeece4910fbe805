package refresh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"rivulet/event"
	"rivulet/internal/kafka"
	"rivulet/trainer/merge"
)

// Source is a source of records: a file of JSON lines or a topic.
type Source struct {
	File string

	Topic string
	Group string // its offsets mark the beginning of new records; empty: all are read
	// Until are the offsets before which reading ends, of a source without a group; partitions that it does not name
	// are not read. nil: the end of the topic when reading begins.
	Until kafka.Offsets
}

const kafkaPrefix = "kafka:"

// ParseSource parses the name of a file, or kafka: and a topic.
func ParseSource(text string) (Source, error) {
	topic, isTopic := strings.CutPrefix(text, kafkaPrefix)
	switch {
	case isTopic && topic == "":
		return Source{}, errors.New("no topic after kafka:")
	case isTopic:
		return Source{Topic: topic}, nil
	}
	info, err := os.Stat(text)
	if err == nil && info.IsDir() {
		err = errors.New("a directory, want a file of JSON lines, or kafka: and a topic")
	}
	return Source{File: text}, err
}

// read passes all arrivals and labels to a merger, and returns the next offsets of a topic of arrivals.
func (r *Refresher) read(ctx context.Context, m *merge.Merger) (next kafka.Offsets, err error) {
	var a event.Arrival
	next, err = r.records(ctx, r.Arrivals, func(codec event.Codec, value []byte, err error) {
		if err == nil {
			err = codec.DecodeArrival(value, &a)
		}
		if err != nil {
			m.Refuse(err)
			return
		}
		_ = m.Arrival(&a) // counted, with its reason
	})
	if err != nil || r.Labels.File == "" && r.Labels.Topic == "" {
		return next, err
	}
	var l event.Label
	_, err = r.records(ctx, r.Labels, func(codec event.Codec, value []byte, err error) {
		if err == nil {
			err = codec.DecodeLabel(value, &l)
		}
		if err != nil {
			m.RefuseLabel(err)
			return
		}
		m.Label(&l)
	})
	return next, err
}

// records passes each record of a source to take, with its codec, or an error if it has none.
func (r *Refresher) records(ctx context.Context, s Source, take func(codec event.Codec, value []byte, err error)) (kafka.Offsets, error) {
	if s.Topic == "" {
		return nil, eachLine(ctx, s.File, func(line []byte) { take(event.JSON{}, line, nil) })
	}
	t, end, err := r.Services.Reader(s.Topic, s.Group)
	if err != nil {
		return nil, err
	}
	defer end()
	return t.ToEnd(ctx, func(rec kafka.Record) error {
		if s.Until != nil && rec.Position.Offset >= s.Until[kafka.TopicPartition{Topic: rec.Position.Topic, Partition: rec.Position.Partition}] {
			return nil
		}
		contentType := event.ContentTypeOf(rec.Headers)
		codec, ok := event.ForContentType(contentType)
		if !ok {
			take(nil, nil, &event.FieldError{Reason: event.ReasonContentType, Field: event.HeaderContentType,
				Detail: fmt.Sprintf("%.80q names no codec", contentType)})
			return nil
		}
		take(codec, rec.Value, nil)
		return nil
	})
}

// commit stores how far the arrivals have been merged.
func (r *Refresher) commit(ctx context.Context, next kafka.Offsets) error {
	if r.Arrivals.Group == "" || len(next) == 0 {
		return nil
	}
	t, end, err := r.Services.Reader(r.Arrivals.Topic, r.Arrivals.Group)
	if err != nil {
		return err
	}
	defer end()
	return t.Commit(ctx, next)
}

// maxLine is the longest line of a file of records, in bytes.
const maxLine = 64 << 20

func eachLine(ctx context.Context, file string, take func([]byte)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<16), maxLine)
	n := 0
	for lines.Scan() {
		n++
		if err := ctx.Err(); err != nil {
			return err
		}
		if text := strings.TrimSpace(lines.Text()); text != "" {
			take([]byte(text))
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading %s after line %d: %w", file, n, err)
	}
	return nil
}
