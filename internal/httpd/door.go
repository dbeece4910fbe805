package httpd

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// door is a listener that bounds how many of its connections are open.
type door struct {
	net.Listener
	most int // connections with a request

	mu   sync.Mutex
	open map[*connection]struct{}
	busy int // connections with a request
}

// connection is one of a door's. Its fields belong to the door's mutex.
type connection struct {
	net.Conn
	door  *door
	since time.Time // when it was accepted, or its last request ended
	busy  bool      // a request is under way
	asked bool      // it has had one
}

// Accept returns the next connection that finds room.
func (d *door) Accept() (net.Conn, error) {
	for {
		accepted, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: accepted, door: d, since: time.Now()}
		if d.admit(c) {
			return c, nil
		}
		_ = accepted.Close()
	}
}

// admit takes a connection in. Where there is no room for it, the connection goes that has been silent for longest,
// one that never sent a request before one that did. It returns false if all are busy.
func (d *door) admit(c *connection) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) >= d.most+healthReserve {
		var silent *connection
		for other := range d.open {
			if !other.busy && (silent == nil || other.asked == silent.asked && other.since.Before(silent.since) ||
				silent.asked && !other.asked) {
				silent = other
			}
		}
		if silent == nil {
			return false
		}
		delete(d.open, silent)
		_ = silent.Conn.Close()
	}
	d.open[c] = struct{}{}
	return true
}

// begin notes that a request begins, and returns false if there are too many.
func (d *door) begin(c *connection) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.busy, c.asked = true, true
	d.busy++
	return d.busy <= d.most
}

func (d *door) end(c *connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.busy, c.since = false, time.Now()
	d.busy--
}

// closeWaiting closes all connections that have no request.
func (d *door) closeWaiting() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.open {
		if !c.busy && time.Since(c.since) >= silentAtStop/2 { // a younger one may still be sent its answer
			_ = c.Conn.Close()
			delete(d.open, c)
		}
	}
}

// Close closes a connection and makes room for another.
func (c *connection) Close() error {
	c.door.mu.Lock()
	delete(c.door.open, c)
	c.door.mu.Unlock()
	return c.Conn.Close()
}

type connectionKey struct{}

// withConnection lets a handler find its connection, which may be below TLS.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}
