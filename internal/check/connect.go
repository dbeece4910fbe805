package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
	"github.com/segmentio/kafka-go/sasl"
)

// session is a connection to one broker that has logged in.
type session struct {
	conn  *protocol.Conn
	found string // how it is secured, for the result
	meta  *metadata.Response
	limit time.Duration
	stop  func() bool // ends the watch over the context
}

func (s *session) close() {
	s.stop()
	_ = s.conn.Close()
}

// ask sends one request.
func (s *session) ask(request protocol.Message) (protocol.Message, error) {
	if err := s.conn.SetDeadline(time.Now().Add(s.limit)); err != nil {
		return nil, err
	}
	return s.conn.RoundTrip(request)
}

// connect takes all steps to a broker, or says in which one it failed.
func (k *Kafka) connect(ctx context.Context, addr string) (*session, *problem) {
	raw, err := (&net.Dialer{Timeout: k.Timeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, unreachable(addr, err, k.Timeout)
	}
	s := &session{limit: k.Timeout, stop: context.AfterFunc(ctx, func() { _ = raw.Close() })}
	conn, p := k.secure(ctx, s, raw, addr)
	if p != nil {
		s.stop()
		_ = raw.Close()
		return nil, p
	}
	s.conn = protocol.NewConn(conn, k.ClientID)
	for _, step := range []func(context.Context, *session, string) *problem{k.versions, k.login, k.metadata} {
		if p := step(ctx, s, addr); p != nil {
			s.close()
			return nil, p
		}
	}
	return s, nil
}

// secure shakes hands where TLS is on.
func (k *Kafka) secure(ctx context.Context, s *session, raw net.Conn, addr string) (net.Conn, *problem) {
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

// versions asks which versions of which requests the broker speaks.
func (k *Kafka) versions(ctx context.Context, s *session, addr string) *problem {
	m, err := s.ask(new(apiversions.Request))
	if err != nil {
		return k.noVersions(ctx, addr, err)
	}
	answer := m.(*apiversions.Response)
	if answer.ErrorCode != 0 {
		return &problem{"it does not tell which requests it speaks: " + kafka.Error(answer.ErrorCode).Error(), "use Kafka 1.0 or newer"}
	}
	versions := make(map[protocol.ApiKey]int16, len(answer.ApiKeys))
	for _, a := range answer.ApiKeys {
		key := protocol.ApiKey(a.ApiKey)
		versions[key] = key.SelectVersion(a.MinVersion, a.MaxVersion)
	}
	// From version 1 on kafka-go takes the throttle time of an answer for its error, and its version 4 has strings of the
	// old form, which name another group.
	versions[protocol.Heartbeat] = 0
	s.conn.SetVersions(versions)
	return nil
}

// login proves who this client is, where the settings say how.
func (k *Kafka) login(ctx context.Context, s *session, addr string) *problem {
	if k.SASL == nil {
		if k.TLS != nil && k.TLS.GetClientCertificate != nil {
			s.found += ", client certificate of " + k.Principal
		} else {
			s.found += ", nobody logs in"
		}
		return nil
	}
	name := k.SASL.Name()
	m, err := s.ask(&saslhandshake.Request{Mechanism: name})
	if err != nil {
		return &problem{"it breaks off when asked to log in with " + name + ": " + err.Error(), "use a listener with SASL"}
	}
	if answer := m.(*saslhandshake.Response); answer.ErrorCode != 0 {
		return notOffered(name, kafka.Error(answer.ErrorCode), answer.Mechanisms)
	}
	host, port, _ := net.SplitHostPort(addr)
	at := &sasl.Metadata{Host: host}
	_, _ = fmt.Sscan(port, &at.Port)
	exchange, state, err := k.SASL.Start(sasl.WithMetadata(ctx, at))
	if err != nil {
		return &problem{err.Error(), "mend that setting"}
	}
	for done := false; !done; {
		m, err := s.ask(&saslauthenticate.Request{AuthBytes: state})
		if err != nil {
			return k.refused(name, "it closed the connection")
		}
		answer := m.(*saslauthenticate.Response)
		if answer.ErrorCode != 0 {
			return k.refused(name, strings.TrimSpace(kafka.Error(answer.ErrorCode).Title()+". "+answer.ErrorMessage))
		}
		if done, state, err = exchange.Next(ctx, answer.AuthBytes); err != nil {
			return k.refused(name, "the broker could not prove that it knows it: "+err.Error())
		}
	}
	s.found += ", " + name + " as " + k.Username
	if k.TLS == nil && name == "PLAIN" {
		s.found += ", whose password the network can read"
	}
	return nil
}

// metadata asks for the cluster, the topics, and what this client may do with them.
func (k *Kafka) metadata(_ context.Context, s *session, _ string) *problem {
	m, err := s.ask(&metadata.Request{TopicNames: append(append([]string{}, k.Read...), k.Write...), IncludeTopicAuthorizedOperations: true})
	var ended net.Error
	switch {
	case err == nil:
		s.meta = m.(*metadata.Response)
		return nil
	case k.SASL == nil && isClosed(err):
		return &problem{"it closes the connection of a client that has not logged in", "set kafka.sasl.mechanism, username and password"}
	case errors.As(err, &ended) && ended.Timeout():
		return &problem{fmt.Sprintf("it does not describe its cluster within %v", k.Timeout), "look at the broker's log and load"}
	}
	return &problem{"it does not describe its cluster: " + err.Error(), "look at the broker's log"}
}
