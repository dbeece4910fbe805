// Package tlsclient secures connections of clients with certificates that may be replaced while the process runs: each
// handshake asks anew which authorities are trusted and which certificate the client has.
//
// A tls.Config cannot do that by itself. Its callbacks renew the client's own certificate, but the trusted authorities
// are fixed with it, and a callback that verifies in their place does not learn the address of a server that is named
// by an IP address.
package tlsclient

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Source has the settings of TLS as they are now.
type Source interface {
	// Config returns the settings for one connection. An empty ServerName is the host of its address.
	Config() (*tls.Config, error)
}

// Fixed are settings that do not change.
type Fixed struct{ TLS *tls.Config }

// Config returns the settings.
func (f Fixed) Config() (*tls.Config, error) { return f.TLS, nil }

// Secure makes the handshake on a new connection to addr, host:port. After an error the connection is closed.
func Secure(ctx context.Context, raw net.Conn, addr string, from Source) (net.Conn, error) {
	config, err := from.Config()
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	if config = config.Clone(); config.ServerName == "" {
		if config.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			config.ServerName = addr
		}
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return conn, nil
}

// Dialer opens secured connections.
type Dialer struct {
	net.Dialer
	From Source
}

// DialContext connects and makes the handshake, within the dialer's Timeout together.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	raw, err := d.Dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return Secure(ctx, raw, addr, d.From)
}

// Transport returns a copy of http.DefaultTransport whose https connections are secured by a source; nil: as http's
// are.
func Transport(from Source) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if from != nil {
		t.DialTLSContext = (&Dialer{Dialer: net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second},
			From: from}).DialContext
	}
	return t
}
