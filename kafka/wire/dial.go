package wire

import (
	"context"
	"net"
	"time"

	"rivulet/internal/tlsclient"
)

// Dialer opens connections that remember their broker's versions, so that they are asked for once. kafka-go keeps only
// the versions of its own messages, and wraps connections in its buffer; only LocalAddr reaches the connection below,
// so the memory is there.
type Dialer struct {
	TLS tlsclient.Source // nil: plaintext
}

// Dial connects to a broker.
func (d Dialer) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, addr)
	if err == nil && d.TLS != nil {
		c, err = tlsclient.Secure(ctx, c, addr, d.TLS)
	}
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, local: &address{Addr: c.LocalAddr()}}, nil
}

// dialTimeout is the time that one address of a broker is tried. It is kafka-go's.
const dialTimeout = 3 * time.Second

// connection is a connection of a [Dialer]. One request at a time uses it.
type connection struct {
	net.Conn
	local *address
}

// LocalAddr returns the local address, which holds the broker's versions.
func (c *connection) LocalAddr() net.Addr { return c.local }

// address is the local address of a connection to a broker that speaks some versions; nil: it was not asked yet.
type address struct {
	net.Addr
	versions versionTable
}
