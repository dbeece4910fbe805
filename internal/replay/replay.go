package replay

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/kafka/retry"
	"rivulet/schema"
)

// Sink takes arrivals, in order.
type Sink interface {
	// Send returns when all arrivals are accepted. It keeps none of them.
	Send(ctx context.Context, arrivals []event.Arrival) error
}

// Stream holds the arrivals that a replay sends, in order.
type Stream struct {
	Name    string
	Len     int                                     // arrivals
	Arrival func(k int, at time.Time) event.Arrival // the k-th one, from 0, at the time when it is due
}

// TestNodes is the stream of a data set's test nodes, in the order of the data set.
func TestNodes(d *dataset.Dataset) Stream { return Nodes(d, d.Test) }

// Nodes is the stream of some nodes of a data set.
func Nodes(d *dataset.Dataset, nodes []int32) Stream {
	return Stream{Name: d.Name, Len: len(nodes),
		Arrival: func(k int, at time.Time) event.Arrival { return Arrival(d, nodes[k], at) }}
}

// Without returns the same stream of arrivals without their features, for consumers that look these up.
func (s Stream) Without() Stream {
	with := s.Arrival
	s.Arrival = func(k int, at time.Time) event.Arrival {
		a := with(k, at)
		a.Features = event.Features{Absent: true}
		return a
	}
	return s
}

// Labels are the classes or labels of nodes of a data set, by name, which became known at a time.
func Labels(d *dataset.Dataset, nodes []int32, at time.Time) []event.Label {
	labels := make([]event.Label, len(nodes))
	for k, i := range nodes {
		labels[k] = event.Label{ID: d.IDs[i], Class: event.ByName, ClassName: labelName(d, i), Time: at}
	}
	return labels
}

// labelName is the name of a node's class, or of a task of labels their names as one text, or of numbers these.
func labelName(d *dataset.Dataset, node int32) string {
	write, ok := labelTexts[d.Task.Truth()]
	if !ok {
		panic(fmt.Sprintf("replay: labels of task %s have a form that is not written", d.Task))
	}
	return write(d, node)
}

// labelTexts write the label of a node, by the form of labels. A task of links has none to send.
var labelTexts = map[target.Truth]func(d *dataset.Dataset, node int32) string{
	target.OneClass:   func(d *dataset.Dataset, node int32) string { return d.Classes[d.Labels[node]] },
	target.LabelSet:   labelSet,
	target.NumberEach: numbers,
	target.Neighbours: func(*dataset.Dataset, int32) string { return "" },
}

func numbers(d *dataset.Dataset, node int32) string {
	var text []string
	for _, v := range d.Targets.Row(int(node)) {
		text = append(text, strconv.FormatFloat(float64(v), 'g', -1, 32))
	}
	return strings.Join(text, target.Mark)
}

func labelSet(d *dataset.Dataset, node int32) string {
	var names []string
	for k, has := range d.Targets.Row(int(node)) {
		if has != 0 {
			names = append(names, d.Classes[k])
		}
	}
	return cmp.Or(strings.Join(names, target.Mark), target.Mark)
}

// Options of a replay.
type Options struct {
	// Rate is in arrivals a second; 0 means as fast as the sink takes them.
	Rate float64
	// Chunk is the most arrivals of one Send, at least 1.
	Chunk int
	// Limit ends the replay after as many arrivals; 0 means all.
	Limit int
	// Now is the clock, and Sleep waits; nil means the machine's.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// tick is the interval at which a paced replay looks whether more arrivals are due.
const tick = 2 * time.Millisecond

// Replay sends a stream and returns how many arrivals were sent.
func Replay(ctx context.Context, s Stream, sink Sink, o Options) (int, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = func(ctx context.Context, d time.Duration) error { return retry.Sleep(ctx, retry.SystemClock{}, d) }
	}
	if o.Limit > 0 {
		s.Len = min(s.Len, o.Limit)
	}
	chunk := make([]event.Arrival, 0, o.Chunk)
	start := o.Now()
	for sent := 0; sent < s.Len; {
		due := s.Len
		now := o.Now()
		if o.Rate > 0 {
			due = min(due, int(o.Rate*now.Sub(start).Seconds())+1)
		}
		if due <= sent {
			if err := o.Sleep(ctx, tick); err != nil {
				return sent, err
			}
			continue
		}
		chunk = chunk[:0]
		for k := sent; k < min(due, sent+o.Chunk); k++ {
			at := now
			if o.Rate > 0 { // when it was due: a sink that is slow must not make the stream look faster than it is
				at = start.Add(time.Duration(float64(k) / o.Rate * float64(time.Second)))
			}
			chunk = append(chunk, s.Arrival(k, at))
		}
		if err := sink.Send(ctx, chunk); err != nil {
			return sent, fmt.Errorf("sending arrivals %d to %d of %s: %w", sent, sent+len(chunk)-1, s.Name, err)
		}
		sent += len(chunk)
	}
	return s.Len, nil
}

// Arrival is a node of a data set as an arrival at a time. Its features share the data set's memory.
func Arrival(d *dataset.Dataset, node int32, at time.Time) event.Arrival {
	e := d.Edges(node)
	return event.Arrival{ID: d.IDs[node], Edges: e.To, Incoming: e.From, Types: e.Types, Weights: e.Weights,
		Time: at, Features: Features(d, node)}
}

// Features are a node's features in a data set, by name if the data set has columns.
func Features(d *dataset.Dataset, node int32) event.Features {
	if d.Columns != nil {
		return event.Features{Named: Named(d.Columns, node)}
	}
	return Positions(d.X, node)
}

// Positions are the features of a row by position.
func Positions(x graph.Features, row int32) (f event.Features) {
	if x.Sparse == nil {
		f.Values = x.Dense.Row(int(row))
		return f
	}
	f.Sparse = true
	f.Indices, f.Values = x.Sparse.Row(int(row))
	if f.Values == nil { // a pattern: all ones
		f.Values = make([]float32, len(f.Indices))
		for k := range f.Values {
			f.Values[k] = 1
		}
	}
	return f
}

// Named are the values of a node in columns.
func Named(columns []schema.Column, node int32) []schema.Field {
	named := make([]schema.Field, len(columns))
	for k := range columns {
		named[k] = schema.Field{Name: columns[k].Name, Value: columns[k].At(int(node))}
	}
	return named
}
