package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/internal/app"
	"rivulet/trainer/merge"
)

// source is where records are: a file of JSON lines or a topic.
type source struct{ file, topic string }

const kafkaPrefix = "kafka:"

func parseSource(text string) (source, error) {
	topic, isTopic := strings.CutPrefix(text, kafkaPrefix)
	switch {
	case isTopic && topic == "":
		return source{}, errors.New("no topic after kafka:")
	case isTopic:
		return source{topic: topic}, nil
	}
	info, err := os.Stat(text)
	if err == nil && info.IsDir() {
		err = errors.New("a directory, want a file of JSON lines, or kafka: and a topic")
	}
	return source{file: text}, err
}

// read gives all arrivals and labels to a merger, and returns the next offsets of a topic of arrivals.
func (r *refresher) read(ctx context.Context, m *merge.Merger) (next map[event.TopicPartition]int64, err error) {
	var a event.Arrival
	next, err = r.records(ctx, r.from, r.group, func(codec event.Codec, value []byte, err error) {
		if err == nil {
			err = codec.DecodeArrival(value, &a)
		}
		if err != nil {
			m.Refuse(err)
			return
		}
		_ = m.Arrival(&a) // counted, with its reason
	})
	if err != nil || r.labels == "" {
		return next, err
	}
	var l event.Label
	_, err = r.records(ctx, r.labels, "", func(codec event.Codec, value []byte, err error) {
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

// records gives each record of a source to take, with its codec, or an error where it has none.
func (r *refresher) records(ctx context.Context, from, group string, take func(codec event.Codec, value []byte, err error)) (map[event.TopicPartition]int64, error) {
	s, err := parseSource(from)
	if err != nil {
		return nil, err
	}
	if s.topic == "" {
		return nil, eachLine(ctx, s.file, func(line []byte) { take(event.JSON{}, line, nil) })
	}
	var next map[event.TopicPartition]int64
	err = r.withTopic(s.topic, group, func(t *consumer.Reader) (err error) {
		next, err = t.ToEnd(ctx, func(rec consumer.Record) error {
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
		return err
	})
	return next, err
}

// withTopic gives a reader of a topic to work.
func (r *refresher) withTopic(topic, group string, work func(*consumer.Reader) error) error {
	transport, err := app.Transport(r.cfg.Kafka.Brokers, topic)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	t, err := consumer.NewReader(consumer.ReaderOptions{Brokers: r.cfg.Kafka.Brokers.Brokers, Transport: transport, Topic: topic, Group: group, Logger: r.log})
	if err != nil {
		return err
	}
	return work(t)
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
