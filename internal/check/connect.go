package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"rivulet/kafka"
	"rivulet/kafka/probe"
	"rivulet/kafka/retry"
)

// connection is one to a broker that has accepted the login.
type connection struct {
	*probe.Probe
	found   string // the connection's security, for the result
	cluster *probe.Cluster
	stop    func() bool // ends the watch over the context
}

func (s *connection) close() {
	s.stop()
	s.Close()
}

// connect takes all steps to a broker, or says in which one it failed.
func (k *Kafka) connect(ctx context.Context, addr string) (*connection, *problem) {
	raw, err := (&net.Dialer{Timeout: k.Timeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, unreachable(addr, err, k.Timeout)
	}
	s := &connection{stop: context.AfterFunc(ctx, func() { _ = raw.Close() })}
	conn, p := k.secure(ctx, s, raw, addr)
	if p != nil {
		s.stop()
		_ = raw.Close()
		return nil, p
	}
	s.Probe = probe.New(conn, k.ClientID, k.Timeout)
	for _, step := range []func(context.Context, *connection, string) *problem{k.versions, k.login, k.describe} {
		if p := step(ctx, s, addr); p != nil {
			s.close()
			return nil, p
		}
	}
	return s, nil
}

// secure shakes hands where TLS is on.
func (k *Kafka) secure(ctx context.Context, s *connection, raw net.Conn, addr string) (net.Conn, *problem) {
	if k.TLS == nil {
		s.found = "plaintext"
		return raw, nil
	}
	c := k.TLS.Clone()
	if host, _, err := net.SplitHostPort(addr); err == nil && c.ServerName == "" {
		c.ServerName = host
	}
	if err := raw.SetDeadline(time.Now().Add(k.Timeout)); err != nil {
		return nil, k.handshakeFailed(ctx, addr, err)
	}
	conn := tls.Client(raw, c)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, k.handshakeFailed(ctx, addr, err)
	}
	state := conn.ConnectionState()
	s.found = fmt.Sprintf("%s, certificate valid until %s", tls.VersionName(state.Version),
		state.PeerCertificates[0].NotAfter.UTC().Format(time.DateOnly))
	return conn, nil
}

// versions asks for the broker's supported versions of each request.
func (k *Kafka) versions(ctx context.Context, s *connection, addr string) *problem {
	err := s.Versions()
	var code kafka.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &code):
		return &problem{"it does not tell which requests it speaks: " + code.Error(), "use Kafka 1.0 or newer"}
	}
	return k.noVersions(ctx, addr, err)
}

// login authenticates this client, if the settings have a login.
func (k *Kafka) login(ctx context.Context, s *connection, addr string) *problem {
	if k.Login == nil {
		if k.TLS != nil && k.TLS.GetClientCertificate != nil {
			s.found += ", client certificate of " + k.Principal
		} else {
			s.found += ", nobody logs in"
		}
		return nil
	}
	name := k.Login.Mechanism()
	offered, err := s.Handshake(name)
	var code kafka.Error
	switch {
	case errors.As(err, &code):
		return notOffered(name, code, offered)
	case err != nil:
		return &problem{"it breaks off when asked to log in with " + name + ": " + err.Error(), "use a listener with SASL"}
	}
	if err := s.Authenticate(ctx, addr, k.Login); err != nil {
		if retry.Judge(err) == retry.Permanent {
			return &problem{err.Error(), "correct that setting"}
		}
		return k.refused(name, err.Error())
	}
	s.found += ", " + name + " as " + k.Username
	if k.TLS == nil && name == kafka.Plain {
		s.found += ", whose password the network can read"
	}
	return nil
}

// describe asks for the cluster, the topics, and the operations that this client is allowed on them.
func (k *Kafka) describe(_ context.Context, s *connection, _ string) *problem {
	var err error
	s.cluster, err = s.Describe(k.topics())
	switch {
	case err == nil:
		return nil
	case k.Login == nil && isClosed(err):
		return &problem{"it closes the connection of a client that has not logged in",
			"set kafka.sasl.mechanism, username and password"}
	case isTimeout(err):
		return &problem{fmt.Sprintf("it does not describe its cluster within %v", k.Timeout),
			"look at the broker's log and load"}
	}
	return &problem{"it does not describe its cluster: " + err.Error(), "look at the broker's log"}
}
