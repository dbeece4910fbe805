package check

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"rivulet/kafka"
	"rivulet/kafka/probe"
)

// isClosed tells that the other side hung up.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// Mentions reports whether a text has one of the words.
func Mentions(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// unreachable explains why there is no connection to an address.
func unreachable(addr string, err error, limit time.Duration) *problem {
	host, _, _ := net.SplitHostPort(addr)
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return &problem{fmt.Sprintf("unreachable: no address is known for the name %s", host),
			"correct the name, or make it known to this host"}
	case errors.As(err, &unknown):
		return &problem{fmt.Sprintf("unreachable: the name %s cannot be resolved: %s", host, unknown.Err),
			"look at this host's DNS"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &problem{"unreachable: the connection is refused, nothing listens there", "start it, or correct the address"}
	case isTimeout(err):
		return &problem{fmt.Sprintf("unreachable: no answer within %v", limit), "look for a firewall or a wrong address"}
	}
	return &problem{"unreachable: " + err.Error(), "correct the address, or look at the network"}
}

// certificate explains the fault of a server's certificate; nil if err is about something else. Settings are named with
// their prefix, as "kafka.tls.".
func certificate(err error) *problem {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return &problem{fmt.Sprintf("TLS: its certificate is signed by %q, which is not trusted here", issuer(unknown.Cert)),
			"set %sca_file to the certificate of that authority, if it is the right one"}
	case errors.As(err, &name):
		return &problem{fmt.Sprintf("TLS: its certificate is for %s and not for %s",
			strings.Join(names(name.Certificate), ", "), name.Host),
			"connect by a name that is in the certificate, or set %sserver_name to one"}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return &problem{fmt.Sprintf("TLS: its certificate is valid from %s to %s, and not now",
			invalid.Cert.NotBefore.UTC().Format(time.RFC3339),
			invalid.Cert.NotAfter.UTC().Format(time.RFC3339)), "renew the certificate, or set this host's clock"}
	case errors.As(err, &invalid):
		return &problem{"TLS: its certificate is not acceptable: " + invalid.Error(), "have it made anew"}
	}
	return nil
}

func issuer(c *x509.Certificate) string {
	if c == nil {
		return "an authority"
	}
	return c.Issuer.String()
}

func names(c *x509.Certificate) []string {
	found := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		found = append(found, ip.String())
	}
	if len(found) == 0 {
		return []string{"no name at all"}
	}
	return found
}

// alert is the reason that the other side gave for refusing TLS, "" where it gave none.
func alert(err error) string {
	_, reason, _ := strings.Cut(err.Error(), "remote error: tls: ")
	return reason
}

// handshakeFailed explains why there is no TLS with a broker.
func (k *Kafka) handshakeFailed(ctx context.Context, addr string, err error) *problem {
	if p := certificate(err); p != nil {
		p.do = strings.Replace(p.do, "%s", "kafka.tls.", 1)
		return p
	}
	if reason := alert(err); reason != "" {
		return k.alerted(reason)
	}
	if k.speaksKafka(ctx, addr) {
		return &problem{"it speaks plaintext on this port, and kafka.tls.enabled is true",
			"use the port of its TLS listener, or set kafka.tls.enabled to false"}
	}
	if isTimeout(err) {
		return &problem{fmt.Sprintf("TLS: no answer within %v", k.Timeout), "look whether this is a Kafka broker's port"}
	}
	return &problem{"TLS: " + err.Error(), "look whether this is the port of a TLS listener"}
}

// alerted explains why a broker refused TLS.
func (k *Kafka) alerted(reason string) *problem {
	switch {
	case k.TLS.GetClientCertificate == nil && strings.Contains(reason, "certificate"):
		return &problem{fmt.Sprintf("TLS: it wants a client certificate (%q)", reason),
			"set kafka.tls.cert_file and kafka.tls.key_file"}
	case strings.Contains(reason, "certificate"):
		return &problem{fmt.Sprintf("TLS: it refuses this client's certificate (%q)", reason),
			"set kafka.tls.cert_file to one that is signed by an authority of the broker's trust store, and is valid"}
	}
	return &problem{fmt.Sprintf("TLS: it refuses the handshake (%q)", reason),
		"look at the broker's ssl.enabled.protocols and ssl.cipher.suites"}
}

// noVersions explains why the first request to a broker has no answer.
func (k *Kafka) noVersions(ctx context.Context, addr string, err error) *problem {
	switch {
	case k.TLS != nil && alert(err) != "": // with TLS 1.3 a client certificate is judged after the handshake
		return k.alerted(alert(err))
	case k.TLS == nil && k.speaksTLS(ctx, addr):
		return &problem{"it speaks TLS on this port, and kafka.tls.enabled is false",
			"set kafka.tls.enabled to true (and kafka.tls.ca_file), or use the port of its plaintext listener"}
	case isClosed(err):
		return &problem{"it closes the connection at the first request", "look whether this is a Kafka broker's port"}
	case isTimeout(err):
		return &problem{fmt.Sprintf("it takes the connection and answers nothing within %v", k.Timeout),
			"look whether this is a Kafka broker's port, and whether the broker hangs"}
	}
	return &problem{"it does not answer as a Kafka broker: " + err.Error(), "look whether this is a Kafka broker's port"}
}

// speaksTLS tries a handshake on a connection of its own.
func (k *Kafka) speaksTLS(ctx context.Context, addr string) bool {
	raw, err := (&net.Dialer{Timeout: k.Timeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer func() { _ = raw.Close() }()
	_ = raw.SetDeadline(time.Now().Add(k.Timeout))
	// It only finds out the port's protocol: nothing is sent over it, and it is closed at once.
	err = tls.Client(raw, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}).HandshakeContext(ctx)
	return err == nil || alert(err) != ""
}

// speaksKafka tries a request that needs no rights on a connection of its own, in plaintext.
func (k *Kafka) speaksKafka(ctx context.Context, addr string) bool {
	raw, err := (&net.Dialer{Timeout: k.Timeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer func() { _ = raw.Close() }()
	return probe.New(raw, k.ClientID, k.Timeout).Versions() == nil
}

// notOffered explains why a login cannot begin.
func notOffered(mechanism string, code kafka.Error, offered []string) *problem {
	switch {
	case errors.Is(code, kafka.UnsupportedSASLMechanism):
		return &problem{fmt.Sprintf("it does not offer %s, but %s", mechanism, strings.Join(offered, ", ")),
			"set kafka.sasl.mechanism to one of these, or enable it on the broker"}
	case errors.Is(code, kafka.IllegalSASLState):
		return &problem{"nobody logs in on this port, and kafka.sasl.mechanism is " + strings.ToLower(mechanism),
			"use the port of its SASL listener, or set kafka.sasl.mechanism to none"}
	}
	return &problem{"it refuses to begin a login with " + mechanism + ": " + code.Error(), "look at the broker's log"}
}

// refused explains why a login failed.
func (k *Kafka) refused(mechanism, reason string) *problem {
	if mechanism == kafka.OAuthBearer && k.Username == "" {
		return &problem{fmt.Sprintf("it refuses the token that is signed with this client's credentials of AWS (%s)", reason),
			"compare AWS_REGION with the cluster's region, and see that the user or role may do kafka-cluster:Connect"}
	}
	if mechanism == kafka.OAuthBearer {
		return &problem{fmt.Sprintf("it refuses the token that the issuer gave %s (%s)", k.Username, reason),
			"compare the token's issuer, audience, scopes and times with what the listener expects; this is not about ACLs"}
	}
	return &problem{fmt.Sprintf("wrong password or unknown user: it refuses %s's login with %s (%s)", k.Username,
		mechanism, reason), "correct kafka.sasl.username and its password; this is not about ACLs"}
}
