package producer

import (
	"fmt"
	"strconv"
	"strings"

	"rivulet/event"
	"rivulet/kafka"
)

// mostKey is the longest key of a small dead letter, in bytes.
const mostKey = 1 << 10

// letterRecord returns the record of a dead letter: as it is, or small, without the headers and the value of the record
// that it is about and without a long key; a header names what is missing. With keyed a record without a key gets its
// arrival's place as key.
func letterRecord(d *event.DeadLetter, keyed, small bool) kafka.Record {
	letter, r := *d, kafka.Record{Key: d.Key, Value: d.Value}
	var missing []string
	if small && len(d.Headers) > 0 {
		letter.Headers = nil
		missing = append(missing, fmt.Sprintf("%d headers of %d bytes", len(d.Headers), headerBytes(d.Headers)))
	}
	if small && len(d.Value) > 0 {
		r.Value = nil
		missing = append(missing, fmt.Sprintf("value of %d bytes", len(d.Value)))
	}
	if small && len(d.Key) > mostKey {
		r.Key = nil
		missing = append(missing, fmt.Sprintf("key of %d bytes", len(d.Key)))
	}
	if r.Key == nil && keyed {
		r.Key = fmt.Appendf(nil, "%s/%d/%d", d.Source.Topic, d.Source.Partition, d.Source.Offset)
	}
	r.Headers = letter.RecordHeaders()
	if len(missing) > 0 {
		r.Headers = append(r.Headers, event.Header{Key: event.HeaderTrimmed, Value: []byte(strings.Join(missing, ", "))})
	}
	if small && len(d.Value) > 0 {
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
