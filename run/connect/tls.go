package connect

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"rivulet/config"
	"rivulet/internal/tlsclient"
)

// tlsFiles are the settings of TLS below one section, such as kafka.tls.
type tlsFiles struct{ section, ca, cert, key, serverName string }

// pair reads a certificate with its key.
func (f tlsFiles) pair() (*tls.Certificate, error) {
	cert, err := ReadSmall(f.cert)
	key, failed := ReadSmall(f.key)
	var pair tls.Certificate
	if err = errors.Join(err, failed); err == nil {
		pair, err = tls.X509KeyPair(cert, key)
	}
	if err != nil {
		return nil, fmt.Errorf("%s.cert_file %q with key_file %q: %w", f.section, f.cert, f.key, err)
	}
	return &pair, nil
}

// ServerTLS returns the TLS of a server, nil where there is no certificate. The certificate is read again for each
// connection, so that it can be renewed while the server runs.
func ServerTLS(section string, s config.ServerTLS) (*tls.Config, error) {
	f := tlsFiles{section: section, cert: s.CertFile, key: s.KeyFile}
	if f.cert == "" {
		return nil, nil //nolint:nilnil // HTTP
	}
	if _, err := f.pair(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.pair() }}, nil
}

// client reads the certificates of a client once, to find mistakes, and returns them as a source that reads them again
// for each connection: authorities and certificates can be renewed while the process runs.
func (f tlsFiles) client() (tlsclient.Source, error) {
	if _, err := f.Config(); err != nil {
		return nil, err
	}
	return f, nil
}

// Authorities returns the certificates of the authorities in a file, "" for the system's, as a source that reads them
// again for each connection. section is that of the setting ca_file.
func Authorities(section, file string) (tlsclient.Source, error) {
	return tlsFiles{section: section, ca: file}.client()
}

// Config reads the certificates of a client.
func (f tlsFiles) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.serverName}
	if f.ca != "" {
		pem, err := ReadSmall(f.ca)
		if err != nil {
			return nil, fmt.Errorf("%s.ca_file: %w", f.section, err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s.ca_file is %q: there is no PEM certificate in it", f.section, f.ca)
		}
	}
	if f.cert != "" {
		pair, err := f.pair()
		if err != nil {
			return nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	}
	return c, nil
}

// Account is a login that settings name. The file of a password is read at each use, so that it can be renewed while
// the process runs.
type Account struct {
	Setting  string // of the file, such as registry.password_file
	Username string
	Password config.Secret
	File     string // "": Password is used
}

// Credentials returns the name and the password.
func (a Account) Credentials() (username, password string, err error) {
	if a.File == "" {
		return a.Username, a.Password.Reveal(), nil
	}
	password, err = readPassword(a.Setting, a.File)
	return a.Username, password, err
}

// readPassword reads a password's file, without a line break at its end. key is the setting that names the file.
func readPassword(key, path string) (string, error) {
	text, err := ReadSmall(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	if text = bytes.TrimRight(text, "\r\n"); len(text) == 0 {
		return "", fmt.Errorf("%s is %q: it is empty", key, path)
	}
	return string(text), nil
}

// maxSmall bounds a file of secrets or certificates, in bytes.
const maxSmall = 1 << 20

// ReadSmall reads a file of secrets or certificates, which is read again and again while the process runs. Only a
// regular file is read: a FIFO would have everybody wait until somebody writes to it, and a device has no end.
func ReadSmall(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file (%s)", path, info.Mode().Type())
	case info.Size() > maxSmall:
		return nil, fmt.Errorf("%s has %d bytes, at most %d may be", path, info.Size(), maxSmall)
	}
	return io.ReadAll(io.LimitReader(f, maxSmall))
}
