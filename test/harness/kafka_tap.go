package harness

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// KafkaTap is told of the requests of Kafka clients on their way through a proxy. It may end a connection in the
// middle of an exchange. Several goroutines call it.
type KafkaTap interface {
	// Request reports whether a request is passed on; if not, its connection ends.
	Request(r *KafkaRequest) bool
	// Response reports whether the response to a request is passed on; if not, its connection ends.
	Response(r *KafkaRequest) bool
}

// KafkaRequest is a request as it was sent.
type KafkaRequest struct {
	Client  string // client id
	Key     int16
	Version int16
	Body    []byte // past the header; nil in [KafkaTap.Response]
}

// ServeTapped carries connections of Kafka clients to target until Close, request by request.
func (p *Proxy) ServeTapped(ctx context.Context, target string, tap KafkaTap) {
	p.ServeBy(ctx, target, func() Link { return &tappedLink{proxy: p, tap: tap} })
}

// tappedLink is one connection through a tap.
type tappedLink struct {
	proxy *Proxy
	tap   KafkaTap
	asked sync.Map // correlation id -> *KafkaRequest
}

func (l *tappedLink) ToServer(to io.Writer, from io.Reader) {
	l.frames(to, from, func(frame []byte) bool {
		r, correlation, err := parseRequest(frame)
		if err != nil {
			return false
		}
		goesOn := l.tap.Request(r)
		r.Body = nil
		l.asked.Store(correlation, r)
		return goesOn
	})
}

func (l *tappedLink) ToClient(to io.Writer, from io.Reader) {
	l.frames(to, from, func(frame []byte) bool {
		if len(frame) < 4 {
			return false
		}
		r, there := l.asked.LoadAndDelete(binary.BigEndian.Uint32(frame))
		return !there || l.tap.Response(r.(*KafkaRequest))
	})
}

// frames passes frames on for as long as pass says so.
func (l *tappedLink) frames(to io.Writer, from io.Reader, pass func(frame []byte) bool) {
	for {
		var size [4]byte
		if _, err := io.ReadFull(from, size[:]); err != nil {
			return
		}
		frame := make([]byte, 4+binary.BigEndian.Uint32(size[:]))
		copy(frame, size[:])
		if _, err := io.ReadFull(from, frame[4:]); err != nil {
			return
		}
		if !l.proxy.open() || !pass(frame[4:]) {
			return
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
	}
}

var errShortFrame = errors.New("a frame that ends early")

// parseRequest splits a request into its header and its body.
func parseRequest(frame []byte) (r *KafkaRequest, correlation uint32, err error) {
	if len(frame) < 10 {
		return nil, 0, errShortFrame
	}
	r = &KafkaRequest{Key: int16(binary.BigEndian.Uint16(frame)), Version: int16(binary.BigEndian.Uint16(frame[2:]))}
	correlation = binary.BigEndian.Uint32(frame[4:])
	rest := frame[10:]
	if n := int(int16(binary.BigEndian.Uint16(frame[8:]))); n > 0 {
		if len(rest) < n {
			return nil, 0, errShortFrame
		}
		r.Client, rest = string(rest[:n]), rest[n:]
	}
	if of := kmsg.RequestForKey(r.Key); of != nil {
		if of.SetVersion(r.Version); of.IsFlexible() {
			if len(rest) == 0 || rest[0] != 0 {
				return nil, 0, fmt.Errorf("request %d of version %d: tags in its header", r.Key, r.Version)
			}
			rest = rest[1:]
		}
	}
	r.Body = rest
	return r, correlation, nil
}

// Produced returns how many records a Produce request has; 0: it cannot be read.
func (r *KafkaRequest) Produced() (records int) {
	var produce kmsg.ProduceRequest
	produce.SetVersion(r.Version)
	if produce.ReadFrom(r.Body) != nil {
		return 0
	}
	for _, topic := range produce.Topics {
		for _, p := range topic.Partitions {
			records += count(p.Records)
		}
	}
	return records
}

// count returns the number of records in some record batches.
func count(batches []byte) (records int) {
	const head = 12 // the first offset and the length
	for len(batches) >= head {
		size := min(len(batches), head+int(binary.BigEndian.Uint32(batches[8:])))
		var batch kmsg.RecordBatch
		if batch.ReadFrom(batches[:size]) != nil {
			break
		}
		records, batches = records+int(batch.NumRecords), batches[size:]
	}
	return records
}
