package connect

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"rivulet/config"
	"rivulet/kafka"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

func TestWrongFilesAreNamed(t *testing.T) {
	authority := harness.NewAuthority(t)
	cert, key := harness.CertificateFiles(t, authority.Sign("me", time.Now().Add(time.Hour)))
	empty := filepath.Join(t.TempDir(), "empty")
	expect.OK(t, os.WriteFile(empty, []byte("\n"), 0o600))
	login := config.KafkaSASL{Mechanism: "plain", Username: "me"}
	for want, b := range map[string]config.Brokers{
		"kafka.tls.ca_file: open": {TLS: config.KafkaTLS{Enabled: true, CAFile: "none"},
			SASL: config.KafkaSASL{Mechanism: "none"}},
		"kafka.tls.ca_file is \"" + empty: {TLS: config.KafkaTLS{Enabled: true, CAFile: empty},
			SASL: config.KafkaSASL{Mechanism: "none"}},
		"kafka.tls.cert_file \"" + key + "\" with key_file": {TLS: config.KafkaTLS{Enabled: true, CertFile: key,
			KeyFile: cert}, SASL: config.KafkaSASL{Mechanism: "none"}},
		"kafka.sasl.password_file: open":                       {SASL: with(login, "none")},
		"kafka.sasl.password_file is \"" + empty + "\": it is": {SASL: with(login, empty)},
	} {
		expect.Error(t, expect.ErrorOf(Kafka(b)), want)
	}
}

func with(s config.KafkaSASL, file string) config.KafkaSASL {
	s.PasswordFile = file
	return s
}

// A password that is changed in its file holds for the next connection.
func TestAPasswordIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	expect.OK(t, os.WriteFile(file, []byte("before"), 0o600))
	l, err := newLogin(config.KafkaSASL{Mechanism: "plain", Username: "me", PasswordFile: file})
	expect.OK(t, err)
	for _, want := range []string{"first", "second"} {
		expect.OK(t, os.WriteFile(file, []byte(want), 0o600))
		if username, password, err := l.Credentials(t.Context()); err != nil || username != "me" || password != want ||
			l.Mechanism() != kafka.Plain {
			t.Errorf("%s as %q with %q, %v, want %s", l.Mechanism(), username, password, err, want)
		}
	}
}
