package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// proxy is a network between a client and a server that can be cut. It listens on one address for as long as it lives.
type proxy struct {
	target   string
	listener net.Listener
	wait     sync.WaitGroup

	mu    sync.Mutex
	state state
	wake  chan struct{} // closed when the state changes
	conns map[net.Conn]bool
}

// state is what a proxy does with connections.
type state int

const (
	passing state = iota // carries everything
	refused              // has closed all connections, and closes new ones at once
	silent               // keeps connections and accepts new ones, and carries nothing until it passes again
	closed
)

// newProxy listens on a free port of the loopback interface.
func newProxy(ctx context.Context) (*proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &proxy{listener: listener, wake: make(chan struct{}), conns: map[net.Conn]bool{}}, nil
}

// serve carries connections to target until close.
func (p *proxy) serve(ctx context.Context, target string) {
	p.target = target
	p.wait.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.wait.Go(func() { p.carry(ctx, client) })
		}
	})
}

// Addr is where clients come.
func (p *proxy) Addr() string { return p.listener.Addr().String() }

// set changes what becomes of connections.
func (p *proxy) set(s state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == closed {
		return
	}
	p.state = s
	if s == refused || s == closed {
		for c := range p.conns {
			_ = c.Close()
		}
	}
	close(p.wake)
	p.wake = make(chan struct{})
}

// close ends the proxy and waits for its connections.
func (p *proxy) close() {
	p.set(closed)
	_ = p.listener.Close()
	p.wait.Wait()
}

// open waits while the proxy is silent. It is false where connections are not carried.
func (p *proxy) open() bool {
	for {
		p.mu.Lock()
		s, wake := p.state, p.wake
		p.mu.Unlock()
		if s != silent {
			return s == passing
		}
		<-wake
	}
}

// keep makes a connection one that set closes.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	return p.state != refused && p.state != closed
}

func (p *proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// carry serves one connection to its end.
func (p *proxy) carry(ctx context.Context, client net.Conn) {
	defer p.drop(client)
	if !p.keep(client) || !p.open() {
		return
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", p.target)
	if err != nil {
		return
	}
	defer p.drop(server)
	if !p.keep(server) {
		return
	}
	var wait sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		wait.Go(func() {
			p.copy(way[1], way[0])
			_ = client.Close() // the other way ends too
			_ = server.Close()
		})
	}
	wait.Wait()
}

// copy carries bytes one way. What was read before the proxy fell silent is kept and written afterwards, as a network
// that loses packets for a while does it.
func (p *proxy) copy(to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !p.open() {
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
