package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rawRequest is a request that kafka-go does not know, or not in the version that is needed: kmsg writes it and
// reads its answer. It is for what is asked for rarely: the broker's versions are asked for each time.
type rawRequest struct {
	kmsg.Request
	clientID string
	least    int16           // the version without which the question makes no sense
	leaderOf *TopicPartition // whose leader is asked; nil: any broker
}

// rawAnswer is the answer to it; nil: the broker does not speak a version that makes sense.
type rawAnswer struct{ kmsg.Response }

// ApiKey says which request it is.
func (r *rawRequest) ApiKey() protocol.ApiKey { return protocol.ApiKey(r.Key()) }

// ApiKey says which request was answered.
func (r *rawAnswer) ApiKey() protocol.ApiKey { return protocol.ApiKey(r.Key()) }

// Broker makes the transport ask the partition's leader, or any broker.
func (r *rawRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	if r.leaderOf == nil {
		return protocol.Broker{ID: -1}, nil
	}
	return leader(cluster, *r.leaderOf)
}

// leader returns the broker that leads a partition.
func leader(cluster protocol.Cluster, at TopicPartition) (protocol.Broker, error) {
	return (&fetchapi.Request{Topics: []fetchapi.RequestTopic{{Topic: at.Topic,
		Partitions: []fetchapi.RequestPartition{{Partition: int32(at.Partition)}}}}}).Broker(cluster)
}

// Required makes the transport call RawExchange.
func (*rawRequest) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange asks for the broker's versions and sends the request in the newest that both know.
func (r *rawRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	asked, err := r.exchange(rw, kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return nil, err
	}
	newest := int16(-1)
	for _, k := range asked.(*kmsg.ApiVersionsResponse).ApiKeys {
		if k.ApiKey == r.Key() && k.MinVersion <= r.MaxVersion() {
			newest = min(k.MaxVersion, r.MaxVersion())
		}
	}
	if newest < r.least {
		return &rawAnswer{}, nil
	}
	r.SetVersion(newest)
	answer, err := r.exchange(rw, r.Request)
	if err != nil {
		return nil, err
	}
	return &rawAnswer{answer}, nil
}

// largestAnswer bounds what is read of an answer to a raw request.
const largestAnswer = 64 << 20

// exchange sends one request over a connection that nobody else uses, and reads the answer.
func (r *rawRequest) exchange(rw io.ReadWriter, req kmsg.Request) (kmsg.Response, error) {
	const correlation = 1
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(r.clientID))
	if _, err := rw.Write(format.AppendRequest(nil, req, correlation)); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if id := binary.BigEndian.Uint32(head[4:]); size < 4 || size > largestAnswer || id != correlation {
		return nil, fmt.Errorf("an answer of %d bytes to request %d, want one to request %d", size, id, correlation)
	}
	body := make([]byte, size-4)
	if _, err := io.ReadFull(rw, body); err != nil {
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
