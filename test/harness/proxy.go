package harness

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Proxy is a network between clients and a server that can be cut. It listens on one address until it is closed.
type Proxy struct {
	listener net.Listener
	wait     sync.WaitGroup

	mu     sync.Mutex
	target string
	moves  int // how often the target has changed
	state  State
	wake   chan struct{} // closed when the state changes
	conns  map[net.Conn]bool
}

// Conns returns the number of connections that it carries or keeps.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// State is a proxy's way of treating connections.
type State int

// States of a proxy.
const (
	Passing State = iota // carries everything
	Refused              // has closed all connections, and closes new ones at once
	Silent               // keeps connections and accepts new ones, and carries nothing until it passes again
	closed
)

// Link carries one connection both ways: toServer the client's bytes, toClient the server's. Each returns when its
// direction ends.
type Link interface {
	ToServer(to io.Writer, from io.Reader)
	ToClient(to io.Writer, from io.Reader)
}

// NewProxy listens on a free port of the loopback interface.
func NewProxy(ctx context.Context) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &Proxy{listener: listener, wake: make(chan struct{}), conns: map[net.Conn]bool{}}, nil
}

// Serve carries connections to target until Close, byte by byte.
func (p *Proxy) Serve(ctx context.Context, target string) {
	p.ServeBy(ctx, target, func() Link { return bytewise{p} })
}

// ServeBy carries connections to target until Close, each by a link of its own.
func (p *Proxy) ServeBy(ctx context.Context, target string, link func() Link) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.wait.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.wait.Go(func() { p.carry(ctx, client, link()) })
		}
	})
}

// Addr returns the address for clients.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes the state of the proxy.
func (p *Proxy) Set(s State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == closed {
		return
	}
	p.state = s
	if s == Refused || s == closed {
		for c := range p.conns {
			_ = c.Close()
		}
	}
	close(p.wake)
	p.wake = make(chan struct{})
}

// Move carries new connections to another target. Those that are there are never answered again, and are not closed: as
// when the machine behind a name is gone without a word, and another one has the name.
func (p *Proxy) Move(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	p.moves++
}

// destination returns the target of a new connection, and a function that reports whether it still is.
func (p *Proxy) destination() (target string, still func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.moves
	return p.target, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.moves == now
	}
}

// Close ends the proxy and waits for its connections.
func (p *Proxy) Close() {
	p.Set(closed)
	_ = p.listener.Close()
	p.wait.Wait()
}

// open waits while the proxy is silent, and reports whether connections are carried.
func (p *Proxy) open() bool {
	for {
		p.mu.Lock()
		s, wake := p.state, p.wake
		p.mu.Unlock()
		if s != Silent {
			return s == Passing
		}
		<-wake
	}
}

// keep registers a connection, so that Set closes it, and reports whether it may continue.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	return p.state != Refused && p.state != closed
}

func (p *Proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// carry serves one connection to its end.
func (p *Proxy) carry(ctx context.Context, client net.Conn, link Link) {
	defer p.drop(client)
	if !p.keep(client) || !p.open() {
		return
	}
	target, still := p.destination()
	server, err := new(net.Dialer).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer p.drop(server)
	if !p.keep(server) {
		return
	}
	end := func() { // ends one way; the other ends too
		_ = client.Close()
		_ = server.Close()
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		defer end()
		link.ToServer(unlessMoved{server, still}, client)
	})
	wait.Go(func() {
		defer end()
		link.ToClient(unlessMoved{client, still}, server)
	})
	wait.Wait()
}

// unlessMoved takes what is written to a connection, and loses it once the proxy has another target.
type unlessMoved struct {
	to    io.Writer
	still func() bool
}

func (u unlessMoved) Write(p []byte) (int, error) {
	if !u.still() {
		return len(p), nil
	}
	return u.to.Write(p)
}

// bytewise is the link that carries all bytes unchanged.
type bytewise struct{ proxy *Proxy }

func (b bytewise) ToServer(to io.Writer, from io.Reader) { b.copy(to, from) }
func (b bytewise) ToClient(to io.Writer, from io.Reader) { b.copy(to, from) }

// copy carries bytes one way. Bytes that were read before the proxy fell silent are written afterwards, as in a
// network that loses packets for a while.
func (b bytewise) copy(to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !b.proxy.open() {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil && !errors.Is(err, io.ErrNoProgress) {
			return
		}
	}
}
