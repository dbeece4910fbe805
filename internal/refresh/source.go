package refresh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"rivulet/consumer"
	"rivulet/event/read"
	"rivulet/infer/target"
	"rivulet/kafka"
	"rivulet/kafka/retry"
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

// read passes all arrivals, ids to forget and labels to a merger.
func (o *round) read(ctx context.Context, m *merge.Merger) (err error) {
	in := o.newIntake(m)
	o.next, err = o.records(ctx, o.Arrivals, &o.Forms, func(rec *kafka.Record) error { return in.records.Add(ctx, *rec) })
	if err == nil {
		err = in.records.Flush(ctx)
	}
	if err == nil && in.unread != nil {
		err = fmt.Errorf("reading the schema of the artifact that serves: %w", in.unread)
	}
	if err == nil {
		err = o.useless(o.Arrivals, "arrivals", m.Report.Arrivals+m.Report.EdgeRecords, in.refused, wantArrival)
	}
	if err != nil {
		return err
	}
	for _, id := range o.Forget {
		m.Forget(id)
	}
	if o.Labels.File == "" && o.Labels.Topic == "" {
		return nil
	}
	return o.readLabels(ctx, m)
}

// readLabels passes all labels to a merger.
func (o *round) readLabels(ctx context.Context, m *merge.Merger) error {
	o.doing = "reading labels"
	var refused refusals
	labels := o.Forms.OfLabels()
	_, err := o.records(ctx, o.Labels, labels, func(rec *kafka.Record) error {
		l, err := labels.Label(read.Record{Value: rec.Value, Headers: rec.Headers})
		if err != nil {
			m.RefuseLabel(err)
			refused.add(err)
			return nil
		}
		m.Label(l)
		return nil
	})
	if err != nil {
		return err
	}
	unknown := 0
	for _, word := range slices.Sorted(maps.Keys(m.Report.UnknownClass)) {
		unknown += m.Report.UnknownClass[word]
		refused.add(o.noLabel(word))
	}
	refused.n = max(refused.n, unknown)
	return o.useless(o.Labels, "labels", m.Report.Labels-unknown, refused,
		`want {"id": "n1", "class_name": "a"} with the name of a class, or "class" with its index`)
}

// noLabel returns the error of a label that no node of the graph could have.
func (o *round) noLabel(word string) error {
	if d := o.Graph.Dataset; d.Task.Truth() != target.OneClass {
		return fmt.Errorf("%s is none of task %s", word, d.Task)
	}
	return fmt.Errorf("the data have no class %s", word)
}

const wantArrival = `want {"id": "n1", "features": […], "edges": […]}, or input.mapping for another shape`

// refusals counts records that cannot be used, and keeps the first reason.
type refusals struct {
	n     int
	first error
}

func (r *refusals) add(err error) {
	if r.n++; r.first == nil {
		r.first = err
	}
}

// useless says why none of the records of a source could be used: a run that goes on as if there were none would end
// well and do nothing. Of a file it is an error. A topic may have a stretch of such records, over which the next run
// must get, so there it is logged. Records that are refused beside others are counted in the report, and the first
// reason is logged.
func (o *round) useless(s Source, what string, used int, refused refusals, want string) error {
	if refused.n == 0 {
		return nil
	}
	if used == 0 && s.File != "" {
		return fmt.Errorf("%s: none of the %s can be used, the first for this reason: %w; %s", s.File, what, refused.first,
			want)
	}
	if o.Log != nil {
		o.Log.Warn(what+" cannot be used", "refused", refused.n, "used", used, "first", refused.first, "hint", want)
	}
	return nil
}

// records passes each record of a source, which has these forms, to take.
func (o *round) records(ctx context.Context, s Source, forms *read.Reader,
	take func(*kafka.Record) error) (kafka.Offsets, error) {
	if s.Topic == "" {
		headers := read.LineHeaders()
		return nil, eachLine(ctx, s.File, func(line []byte) error {
			return take(&kafka.Record{Value: line, Headers: headers})
		})
	}
	t, end, err := o.Services.Reader(s.Topic, s.Group)
	if err != nil {
		return nil, err
	}
	defer end()
	schemas := consumer.NewLearner(&o.Forms, o.Registry,
		consumer.RegistryOutage(retry.Patience{Logger: o.Log}, o.Registry).Attempts())
	var from kafka.Offsets
	if s.Group != "" {
		if from, err = o.begin(ctx, t); err != nil {
			return nil, err
		}
	}
	return t.ToEnd(ctx, from, func(rec kafka.Record) error {
		if s.Until != nil && rec.Position.Offset >= s.Until[kafka.TopicPartition{Topic: rec.Position.Topic,
			Partition: rec.Position.Partition}] {
			return nil
		}
		if err := schemas.Await(ctx, rec); err != nil {
			return err
		}
		return take(&rec)
	})
}

// maxLine is the longest line of a file of records, in bytes.
const maxLine = 64 << 20

func eachLine(ctx context.Context, file string, take func([]byte) error) error {
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
			if err := take([]byte(text)); err != nil {
				return err
			}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s: line %d has %d bytes or more: want a record a line", file, n+1, maxLine)
	case err != nil:
		return fmt.Errorf("reading %s after line %d: %w", file, n, err)
	}
	return nil
}
