package wire

import (
	"context"
	"net"
	"sync"
	"time"
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

// Lines are the connections of a group's member, which can be cut off. kafka-go's group ends no request before it is
// answered.
type Lines struct {
	mu   sync.Mutex
	open map[*line]struct{} // nil after Cut
}

// line is one connection.
type line struct {
	net.Conn
	of *Lines
}

// NewLines returns no connections.
func NewLines() *Lines { return &Lines{open: make(map[*line]struct{})} }

// Dial opens a connection, unless the member was cut off.
func (l *Lines) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c := &line{conn, l}
	l.open[c] = struct{}{}
	return c, nil
}

// Close closes the connection.
func (c *line) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Cut closes all connections, present and later ones.
func (l *Lines) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Conn.Close()
	}
	l.open = nil
}
