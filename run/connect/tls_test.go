package connect

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rivulet/internal/tlsclient"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// Authorities and the client's certificate are read again for each connection: a server whose certificate is signed by
// another authority is trusted as soon as the file has that authority, and no longer once it is taken out.
func TestAuthoritiesAreReadAgain(t *testing.T) {
	before, after := harness.NewAuthority(t), harness.NewAuthority(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	trust := func(all ...*harness.Authority) {
		var text []byte
		for _, a := range all {
			pem, err := os.ReadFile(a.File())
			expect.OK(t, err)
			text = append(text, pem...)
		}
		expect.OK(t, os.WriteFile(ca, text, 0o600))
	}
	trust(before)
	cert, key := harness.CertificateFiles(t, before.Sign("one", time.Now().Add(time.Hour)))
	from, err := tlsFiles{section: "kafka.tls", ca: ca, cert: cert, key: key}.client()
	expect.OK(t, err)

	// connect returns the name of the client that a server saw, whose certificate an authority has signed.
	connect := func(signed *harness.Authority) (client string, err error) {
		server := signed.Server()
		server.ClientAuth = tls.RequireAnyClientCert
		listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
		expect.OK(t, err)
		defer func() { _ = listener.Close() }()
		seen := make(chan string, 1)
		go func() {
			defer close(seen)
			if conn, err := listener.Accept(); err == nil {
				defer func() { _ = conn.Close() }()
				secured := conn.(*tls.Conn)
				if secured.HandshakeContext(t.Context()) == nil {
					seen <- secured.ConnectionState().PeerCertificates[0].Subject.CommonName
				}
			}
		}()
		d := &tlsclient.Dialer{Dialer: net.Dialer{Timeout: 10 * time.Second}, From: from}
		conn, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
		if err == nil {
			defer func() { _ = conn.Close() }()
		}
		return <-seen, err
	}
	name, err := connect(before)
	expect.OK(t, err)
	expect.Same(t, "one", name, "the client's name")
	expect.Error(t, expect.ErrorOf(connect(after)), "unknown authority")

	trust(before, after)
	next, nextKey := harness.CertificateFiles(t, after.Sign("two", time.Now().Add(time.Hour)))
	expect.OK(t, os.Rename(nextKey, key))
	expect.OK(t, os.Rename(next, cert))
	for _, a := range []*harness.Authority{before, after} {
		name, err = connect(a)
		expect.OK(t, err)
		expect.Same(t, "two", name, "the client's name with the new certificate")
	}
	trust(after)
	expect.Error(t, expect.ErrorOf(connect(before)), "unknown authority")

	expect.OK(t, os.WriteFile(ca, []byte("half"), 0o600))
	expect.Error(t, expect.ErrorOf(connect(after)), "kafka.tls.ca_file", "no PEM certificate")
}
