package producer

import (
	"fmt"
	"strconv"
	"strings"

	"rivulet/event"
	"rivulet/kafka"
)

// parts are the parts of its record that a dead letter repeats.
type parts struct{ headers, value, key, detail bool }

// trimmings are the parts that a dead letter may be published without, in the order in which they are tried. Headers go
// first: the record itself was small enough to be read, so its dead letter is too large because of the headers of a
// dead letter, unless its topic takes less than the arrivals' topic.
var trimmings = []parts{
	{},
	{headers: true},
	{value: true},
	{headers: true, value: true},
	{key: true},
	{headers: true, value: true, key: true},
	{headers: true, value: true, key: true, detail: true},
}

// trim returns the record of a dead letter whose batch has at most limit bytes, counted exactly, without the parts that
// make it larger; a header names them. bare says that there is nothing left to leave out; the record may then still be
// larger. With keyed a record without a key gets its arrival's place as key.
func trim(d *event.DeadLetter, keyed bool, limit int) (r kafka.Record, bare bool) {
	for k, without := range trimmings {
		r = without.record(d, keyed)
		if bare = k == len(trimmings)-1; bare || r.BatchBytes() <= limit {
			break
		}
	}
	return r, bare
}

// record is the dead letter's without some parts.
func (p parts) record(d *event.DeadLetter, keyed bool) kafka.Record {
	letter, r := *d, kafka.Record{Key: d.Key, Value: d.Value}
	var trimmed []string
	if p.headers && len(d.Headers) > 0 {
		letter.Headers = nil
		trimmed = append(trimmed, fmt.Sprintf("%d headers of %d bytes", len(d.Headers), headerBytes(d.Headers)))
	}
	if p.value && len(d.Value) > 0 {
		r.Value = nil
		trimmed = append(trimmed, fmt.Sprintf("value of %d bytes", len(d.Value)))
	}
	if p.key && len(d.Key) > 0 {
		r.Key = nil
		trimmed = append(trimmed, fmt.Sprintf("key of %d bytes", len(d.Key)))
	}
	if p.detail {
		letter.Detail = ""
	}
	if r.Key == nil && keyed {
		r.Key = fmt.Appendf(nil, "%s/%d/%d", d.Source.Topic, d.Source.Partition, d.Source.Offset)
	}
	r.Headers = letter.RecordHeaders()
	if len(trimmed) > 0 {
		r.Headers = append(r.Headers, event.Header{Key: event.HeaderTrimmed, Value: []byte(strings.Join(trimmed, ", "))})
	}
	if p.value && len(d.Value) > 0 {
		size := strconv.AppendInt(nil, int64(len(d.Value)), 10)
		r.Headers = append(r.Headers, event.Header{Key: event.HeaderValueBytes, Value: size})
	}
	return r
}

func headerBytes(headers []event.Header) (n int) {
	for i := range headers {
		n += len(headers[i].Key) + len(headers[i].Value)
	}
	return n
}
