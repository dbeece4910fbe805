package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is a request that kafka-go lacks, or lacks in the version that is needed. kmsg writes it and reads its
// answer; kafka-go's transport chooses the connection and waits.
type Request struct {
	kmsg.Request
	ClientID string
	// Least and Most bound the useful versions. A broker that speaks none of them is not asked.
	Least, Most int16
	// To is the broker to ask.
	To Target
}

// Target is the broker that a request goes to: the leader of a partition, the broker of an id, or any.
type Target struct {
	partition TopicPartition
	id        int32
	kind      int8
}

const (
	anyBroker = iota
	toLeader
	toBroker
)

// Leader is the broker that leads a partition.
func Leader(at TopicPartition) Target { return Target{partition: at, kind: toLeader} }

// Broker is the broker of an id.
func Broker(id int32) Target { return Target{id: id, kind: toBroker} }

// Answer is the answer to a [Request]. The response is nil where the broker speaks no version that makes sense.
type Answer struct{ kmsg.Response }

// ApiKey says which request it is.
func (r *Request) ApiKey() protocol.ApiKey { return protocol.ApiKey(r.Key()) }

// ApiKey says which request was answered.
func (a *Answer) ApiKey() protocol.ApiKey { return protocol.ApiKey(a.Key()) }

// Broker tells the transport which broker to ask; it takes the id -1 for any.
func (r *Request) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	switch r.To.kind {
	case toLeader:
		return (&fetchapi.Request{Topics: []fetchapi.RequestTopic{{Topic: r.To.partition.Topic,
			Partitions: []fetchapi.RequestPartition{{Partition: int32(r.To.partition.Partition)}}}}}).Broker(cluster)
	case toBroker:
		b, ok := cluster.Brokers[r.To.id]
		if !ok {
			return b, fmt.Errorf("broker %d is not in the cluster", r.To.id)
		}
		return b, nil
	}
	return protocol.Broker{ID: -1}, nil
}

// Required makes the transport call RawExchange.
func (*Request) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange sends the request in the newest version that makes sense and that the broker speaks.
func (r *Request) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	versions, err := versionsOf(rw, r.ClientID)
	if err != nil {
		return nil, err
	}
	if !versions.choose(r.Request, r.Least, r.Most) {
		return &Answer{}, nil
	}
	answer, err := roundTrip(rw, r.ClientID, r.Request)
	if err != nil {
		return nil, err
	}
	return &Answer{answer}, nil
}

// versionTable are the versions of each request that a broker speaks, by the request's key.
type versionTable map[int16]kmsg.ApiVersionsResponseApiKey

// askVersions asks a broker which versions it speaks.
func askVersions(rw io.ReadWriter, clientID string) (versionTable, error) {
	m, err := roundTrip(rw, clientID, kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return nil, err
	}
	answer := m.(*kmsg.ApiVersionsResponse)
	if err := Failure(answer.ErrorCode); err != nil {
		return nil, err
	}
	versions := make(versionTable, len(answer.ApiKeys))
	for _, k := range answer.ApiKeys {
		versions[k.ApiKey] = k
	}
	return versions, nil
}

// choose sets a request's version to the newest one from least to most that the broker speaks, and reports whether
// there is one.
func (v versionTable) choose(r kmsg.Request, least, most int16) bool {
	spoken, known := v[r.Key()]
	newest := min(spoken.MaxVersion, most, r.MaxVersion())
	if !known || newest < max(least, spoken.MinVersion) {
		return false
	}
	r.SetVersion(newest)
	return true
}

// versionsOf returns the versions that the broker behind a connection speaks. A connection of [Dial] remembers them.
func versionsOf(rw io.ReadWriter, clientID string) (versions versionTable, err error) {
	at := &address{}
	if c, is := rw.(net.Conn); is {
		if dialled, is := c.LocalAddr().(*address); is {
			at = dialled
		}
	}
	if at.versions == nil {
		at.versions, err = askVersions(rw, clientID)
	}
	return at.versions, err
}

// roundTrip sends one request over a connection that nobody else uses meanwhile, and reads the answer.
func roundTrip(rw io.ReadWriter, clientID string, req kmsg.Request) (kmsg.Response, error) {
	const correlation = 1
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))
	if _, err := rw.Write(format.AppendRequest(nil, req, correlation)); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return nil, err
	}
	size, id := int32(binary.BigEndian.Uint32(head[:])), binary.BigEndian.Uint32(head[4:])
	if size < 4 || id != correlation {
		return nil, fmt.Errorf("an answer of %d bytes to request %d, want one to request %d", size, id, correlation)
	}
	body, err := readBody(rw, int(size)-4)
	if err != nil {
		return nil, err
	}
	answer := req.ResponseKind()
	if answer.IsFlexible() && answer.Key() != int16(protocol.ApiVersions) {
		if len(body) == 0 || body[0] != 0 {
			return nil, errors.New("an answer with tags in its header, which Kafka does not use")
		}
		body = body[1:]
	}
	return answer, answer.ReadFrom(body)
}

// believed is the size that an answer may claim before memory is taken for it only as its bytes come: a port that
// does not speak Kafka may say anything.
const believed = 64 << 20

// readBody reads the rest of an answer.
func readBody(r io.Reader, size int) ([]byte, error) {
	if size <= believed {
		body := make([]byte, size)
		_, err := io.ReadFull(r, body)
		return body, err
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(size)); err != nil {
		return nil, fmt.Errorf("an answer of %d bytes: %w", size, io.ErrUnexpectedEOF)
	}
	return body.Bytes(), nil
}

// Failure is the error of a code in an answer, nil for 0.
func Failure(code int16) error {
	if code == 0 {
		return nil
	}
	return kafkago.Error(code)
}
