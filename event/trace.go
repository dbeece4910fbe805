package event

import "encoding/hex"

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
