package wire

import (
	"context"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/spelling"
)

// Dial opens a connection that remembers its broker's versions, so that they are asked for once. kafka-go keeps only
// the versions of its own messages, and wraps connections in others (TLS, its buffer); only LocalAddr reaches the
// connection below, so the memory is there.
func Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, local: &address{Addr: c.LocalAddr()}}, nil
}

// dialTimeout is how long one address of a broker is tried. It is kafka-go's.
const dialTimeout = 3 * time.Second

// connection is a connection of [Dial]. One request at a time uses it.
type connection struct {
	net.Conn
	local *address
}

// LocalAddr returns the local address, which holds the broker's versions.
func (c *connection) LocalAddr() net.Addr { return c.local }

// address is the local address of a connection to a broker that speaks some versions; nil: it was not asked yet.
type address struct {
	net.Addr
	versions Versions
}

// AllTopics asks for the names of all topics that this client may see.
func AllTopics() *Request {
	req := kmsg.NewPtrMetadataRequest() // without a list of topics
	const listsAll = 1                  // Kafka 0.10; an empty list meant all before
	return &Request{Request: req, Least: listsAll, Most: req.MaxVersion()}
}

// Similar returns ", did you mean TOPIC?" for a topic that does not exist, with the one of an answer to [AllTopics]
// that was probably meant; it returns nothing if none is similar, or if there is no answer.
func Similar(answer kmsg.Response, topic string) string {
	all, ok := answer.(*kmsg.MetadataResponse)
	if !ok {
		return ""
	}
	var names []string
	for _, t := range all.Topics {
		if t.Topic != nil && *t.Topic != topic {
			names = append(names, *t.Topic)
		}
	}
	return spelling.DidYouMean(topic, names)
}
