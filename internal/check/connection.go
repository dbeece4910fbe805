package check

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// connectionAdvice returns a remedy for an error of a connection; empty: it is about something else. Settings begin
// with a prefix, as "kafka."; encryption names the setting that turns TLS on.
func connectionAdvice(err error, prefix, encryption string) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unknown *net.DNSError
	var timeout net.Error
	var header tls.RecordHeaderError
	_, alert, refused := strings.Cut(err.Error(), "remote error: tls: ")
	switch {
	case errors.As(err, &authority):
		return "set " + prefix + "tls.ca_file to the certificate of the authority that has signed its certificate, if it " +
			"is the right one"
	case errors.As(err, &name):
		return "connect by a name that is in its certificate, or set " + prefix + "tls.server_name to one"
	case errors.As(err, &invalid):
		return "renew its certificate, or set this host's clock"
	case refused && strings.Contains(alert, "certificate"):
		return "set " + prefix + "tls.cert_file and " + prefix + "tls.key_file to a certificate that an authority of its " +
			"trust store has signed, and that is valid"
	case refused:
		return "compare the versions of TLS and the ciphers that it takes"
	case errors.As(err, &unknown):
		return "correct the name, or make it known to this host"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "start it, or correct the address"
	case errors.As(err, &header), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrShortWrite):
		return "see whether this is the right port, and whether it speaks TLS: " + encryption
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "look for a firewall or a wrong address, whether the server hangs, and whether this port speaks TLS: " +
			encryption
	}
	return ""
}
