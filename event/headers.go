package event

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Names of the record headers that Rivulet reads (content-type) and writes.
const (
	HeaderContentType     = "content-type"
	HeaderValueSchemaID   = "__value_schema_id"        // Confluent's: the schema of a value that does not begin with one
	HeaderKind            = "rivulet-kind"             // edge: the record is an [Edge]; an arrival has no such header
	HeaderSchema          = "rivulet-schema"           // of an arrival: hash of its producer's schema
	HeaderArtifact        = "rivulet-artifact"         // version of the artifact that made the prediction
	HeaderReason          = "rivulet-reason"           // one of the Reason constants
	HeaderDetail          = "rivulet-detail"           // the field and the value, for a person
	HeaderSourceTopic     = "rivulet-source-topic"     // topic from which the arrival was read
	HeaderSourcePartition = "rivulet-source-partition" // decimal
	HeaderSourceOffset    = "rivulet-source-offset"    // decimal
	HeaderIngestTime      = "rivulet-ingest-time"      // the arrival record's timestamp, RFC 3339 in UTC
	HeaderTrimmed         = "rivulet-trimmed"          // parts of the record that were left out, for it was too large
	HeaderValueBytes      = "rivulet-value-bytes"      // decimal: the bytes of a value that was left out
	// W3C Trace Context of an arrival, which its prediction carries on where traces are on.
	HeaderTraceParent = "traceparent"
	HeaderTraceState  = "tracestate"
	// of a dead letter's arrival that was fed in again; decimal: how often
	HeaderReplayed = "rivulet-replayed"
)

// KindEdge is the value of [HeaderKind] of an edge of its own.
const KindEdge = "edge"

// maxDetail bounds the detail header in bytes.
const maxDetail = 1024

// HeaderValue returns the value of a header, nil if there is none. Of several the last one counts, because a later
// header amends an earlier one. Case does not matter. Some producers, as Spring Cloud Stream's, write values as JSON:
// of a text in quotes the text is returned; the name may have quotes, too.
func HeaderValue(headers []Header, name string) []byte {
	for _, h := range slices.Backward(headers) {
		if strings.EqualFold(h.Key, name) || len(h.Key) == len(name)+2 && strings.EqualFold(h.Key, `"`+name+`"`) {
			return unquoted(h.Value)
		}
	}
	return nil
}

// unquoted returns the text of a JSON string, and another value as it is.
func unquoted(value []byte) []byte {
	if text := bytes.TrimSpace(value); len(text) > 1 && text[0] == '"' {
		if inside, err := jsontext.AppendUnquote(nil, text); err == nil {
			return inside
		}
	}
	return value
}

// RecordHeaders returns the headers of the dead-letter record: the record's own, then rivulet-reason,
// rivulet-detail (cut at 1 KiB), rivulet-source-topic, -partition, -offset and, if it is known and in the years 1
// to 9999, rivulet-ingest-time. If a dead letter is fed in again and fails again, the new failure's headers
// replace the earlier ones.
func (d *DeadLetter) RecordHeaders() []Header {
	headers := make([]Header, 0, len(d.Headers)+6)
	for _, h := range d.Headers {
		if !isDeadLetterHeader(h.Key) {
			headers = append(headers, h)
		}
	}
	detail := strings.ToValidUTF8(d.Detail, "\uFFFD")
	if len(detail) > maxDetail {
		const more = "…"
		detail = detail[:runeStart(detail, maxDetail-len(more))] + more
	}
	headers = append(headers, Header{HeaderReason, []byte(d.Reason)}, Header{HeaderDetail, []byte(detail)})
	headers = appendSource(headers, d.Source)
	if t := Timestamp(d.IngestTime); !t.IsZero() {
		headers = append(headers, Header{HeaderIngestTime, t.AppendFormat(nil, time.RFC3339Nano)})
	}
	return headers
}

// ReadDeadLetter reads a record of a topic of dead letters: the reverse of [DeadLetter.RecordHeaders]. Its headers are
// the arrival's own. trimmed says which parts of the arrival were left out, and replayed how often it has been fed in
// again.
func ReadDeadLetter(key, value []byte, headers []Header) (d DeadLetter, trimmed string, replayed int) {
	d = DeadLetter{Key: key, Value: value}
	for _, h := range headers {
		text := string(h.Value)
		switch h.Key {
		case HeaderReason:
			d.Reason = text
		case HeaderDetail:
			d.Detail = text
		case HeaderSourceTopic:
			d.Source.Topic = text
		case HeaderSourcePartition:
			d.Source.Partition, _ = strconv.Atoi(text) // a header that another program wrote is for people alone
		case HeaderSourceOffset:
			d.Source.Offset, _ = strconv.ParseInt(text, 10, 64)
		case HeaderIngestTime:
			d.IngestTime, _ = time.Parse(time.RFC3339Nano, text)
		case HeaderTrimmed:
			trimmed = text
		case HeaderReplayed:
			replayed, _ = strconv.Atoi(text)
		}
		if !isDeadLetterHeader(h.Key) {
			d.Headers = append(d.Headers, h)
		}
	}
	return d, trimmed, replayed
}

func isDeadLetterHeader(key string) bool {
	switch key {
	case HeaderReason, HeaderDetail, HeaderSourceTopic, HeaderSourcePartition, HeaderSourceOffset,
		HeaderIngestTime,
		HeaderTrimmed, HeaderValueBytes:
		return true
	}
	return false
}

// predictionHeaders are the names of a prediction's headers, in their order.
var predictionHeaders = [...]string{HeaderContentType, HeaderArtifact, HeaderSourceTopic, HeaderSourcePartition,
	HeaderSourceOffset}

// AppendPredictionHeaders appends the headers of a prediction's record to dst, so that a reader can route and
// deduplicate without parsing the payload: content-type, rivulet-artifact, rivulet-source-topic, -partition and
// -offset, and the trace context where there is one. The values of the first five are appended to text, and are parts
// of it.
func AppendPredictionHeaders(dst []Header, text []byte, p *Prediction, contentType string) ([]Header, []byte) {
	begin, ends := len(text), [len(predictionHeaders)]int{}
	text = append(text, contentType...)
	ends[0] = len(text)
	text = append(text, p.Artifact...)
	ends[1] = len(text)
	text = append(text, p.Source.Topic...)
	ends[2] = len(text)
	text = strconv.AppendInt(text, int64(p.Source.Partition), 10)
	ends[3] = len(text)
	text = strconv.AppendInt(text, p.Source.Offset, 10)
	ends[4] = len(text)
	for k, name := range predictionHeaders {
		dst = append(dst, Header{name, text[begin:ends[k]:ends[k]]})
		begin = ends[k]
	}
	if len(p.Trace.Parent) > 0 {
		dst = append(dst, Header{HeaderTraceParent, p.Trace.Parent})
	}
	if len(p.Trace.State) > 0 {
		dst = append(dst, Header{HeaderTraceState, p.Trace.State})
	}
	return dst, text
}

func appendSource(headers []Header, s Source) []Header {
	return append(headers, Header{HeaderSourceTopic, []byte(s.Topic)},
		Header{HeaderSourcePartition, strconv.AppendInt(nil, int64(s.Partition), 10)},
		Header{HeaderSourceOffset, strconv.AppendInt(nil, s.Offset, 10)})
}

// TraceContext has the headers traceparent and tracestate of a record, as W3C Trace Context has them.
type TraceContext struct{ Parent, State []byte }

// TraceOf returns the trace context of a record: parts of its headers.
func TraceOf(headers []Header) TraceContext {
	return TraceContext{Parent: HeaderValue(headers, HeaderTraceParent), State: HeaderValue(headers, HeaderTraceState)}
}

// Sampled returns the id of the trace, 32 hexadecimal digits; false if the record is of none that is sampled.
func (t *TraceContext) Sampled() (id string, ok bool) {
	const traceID, traceIDEnd, flags, end = 3, 35, 53, 55 // 00-32 digits-16 digits-01
	if len(t.Parent) < end {
		return "", false
	}
	if b, err := hex.DecodeString(string(t.Parent[flags:end])); err != nil || b[0]&1 == 0 {
		return "", false
	}
	id = string(t.Parent[traceID:traceIDEnd])
	_, err := hex.DecodeString(id)
	return id, err == nil
}
