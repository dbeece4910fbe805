package record

import (
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
)

// Headers that tell the reader the window and the kind of an arrival.
const (
	HeaderWindow  = "chaos-window"
	HeaderSettled = "chaos-settled"
	HeaderSent    = "chaos-sent" // Unix time in ns
	HeaderID      = "chaos-id"
	HeaderReason  = "chaos-reason"
	// HeaderTransaction has the number of the transaction that a record is written in.
	HeaderTransaction = "chaos-transaction"
	// HeaderEdges is in an arrival whose edges come apart: how many it brings, has in all, and has in time.
	HeaderEdges = "chaos-edges"
	// HeaderForget is in a record that asks to forget an id, and has that id.
	HeaderForget = "chaos-forget"
)

// Headers are the headers of a record; of two with one name the last counts.
type Headers map[string]string

// HeadersOf returns those of this program, of Rivulet, and the content-type.
func HeadersOf(all []kgo.RecordHeader) Headers {
	h := make(Headers, min(len(all), 16))
	for _, each := range all {
		if strings.HasPrefix(each.Key, "chaos-") || strings.HasPrefix(each.Key, "rivulet-") ||
			each.Key == event.HeaderContentType {
			h[each.Key] = string(each.Value)
		}
	}
	return h
}

// Number returns a header as a number; 0: it is none.
func (h Headers) Number(name string) int64 {
	n, _ := strconv.ParseInt(h[name], 10, 64)
	return n
}

// Content returns a hash of what an arrival and its dead letter have in common: the value, and the sender's headers.
func (h Headers) Content(value []byte) uint64 {
	hash := xxhash.New()
	_, _ = hash.Write(value)
	for _, key := range []string{HeaderWindow, HeaderSettled, HeaderSent, HeaderID, HeaderReason} {
		_, _ = hash.WriteString("\x00" + h[key])
	}
	return hash.Sum64()
}
