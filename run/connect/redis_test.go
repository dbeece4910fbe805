package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rivulet/config"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// TestRedisOverTLS: a server that wants client certificates and has an ACL user whose password is in a file.
func TestRedisOverTLS(t *testing.T) {
	harness.NeedRedis(t)
	authority := harness.NewAuthority(t)
	cert, key := harness.CertificateFiles(t, authority.Sign("server", time.Now().Add(time.Hour), "localhost", "127.0.0.1"))
	server := harness.StartRedis(t, "--port", "0", "--tls-port", "{port}", "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", authority.File(), "--tls-auth-clients", "yes",
		"--user", "default", "off", "--user", "reader", "on", ">sesame", "~*", "+@all")
	clientCert, clientKey := harness.CertificateFiles(t, authority.Sign("client", time.Now().Add(time.Hour)))
	password := filepath.Join(t.TempDir(), "password")
	expect.OK(t, os.WriteFile(password, []byte("sesame\n"), 0o600))
	good := config.Default[config.Consumer]().Redis.RedisServer
	good.URL, good.Username, good.PasswordFile = config.RedisURL("rediss://"+server.Addr), "reader", password
	good.TLS = config.RedisTLS{CAFile: authority.File(), CertFile: clientCert, KeyFile: clientKey}
	good.Retry.Attempts = 0
	for name, c := range map[string]struct {
		change func(s *config.RedisServer)
		want   string
	}{
		"all is right":      {func(*config.RedisServer) {}, ""},
		"a name of its own": {func(s *config.RedisServer) { s.TLS.ServerName = "localhost" }, ""},
		"another name": {func(s *config.RedisServer) {
			s.TLS.ServerName = "elsewhere"
		}, "certificate is valid for localhost"},
		"another authority": {func(s *config.RedisServer) {
			s.TLS.CAFile = harness.NewAuthority(t).File()
		}, "unknown authority"},
		// an alert, or the reset after it,
		"no client certificate": {func(s *config.RedisServer) { s.TLS.CertFile, s.TLS.KeyFile = "", "" }, ": "},
		"a wrong password":      {func(s *config.RedisServer) { s.PasswordFile, s.Password = "", "hunter2" }, "WRONGPASS"},
		"nobody":                {func(s *config.RedisServer) { s.PasswordFile, s.Username = "", "" }, "NOAUTH"},
		"in the URL": {func(s *config.RedisServer) {
			s.PasswordFile, s.Username, s.URL = "", "", config.RedisURL("rediss://reader:sesame@"+server.Addr)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			c.change(&s)
			client, err := Redis(s)
			expect.OK(t, err)
			defer func() { _ = client.Close() }()
			err = client.Ping(t.Context()).Err()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("error = %v, want one with %q", err, c.want)
			}
		})
	}
	client, err := Redis(good)
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	expect.OK(t, os.WriteFile(password, []byte("changed"), 0o600))
	expect.Error(t, client.Ping(t.Context()).Err(), "WRONGPASS")
}

func TestConnectRedisNamesTheSetting(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "none")
	for want, change := range map[string]func(s *config.RedisServer){
		"redis.password_file: open ": func(s *config.RedisServer) { s.PasswordFile = nowhere },
		"redis.tls.ca_file: open ":   func(s *config.RedisServer) { s.URL, s.TLS.CAFile = "rediss://h:1", nowhere },
		"redis.tls.cert_file ": func(s *config.RedisServer) {
			s.URL, s.TLS.CertFile, s.TLS.KeyFile = "rediss://h:1", nowhere, nowhere
		},
		"neither a cluster nor watched": func(s *config.RedisServer) { s.URL = "redis://a:1,b:2" },
	} {
		s := config.Default[config.Consumer]().Redis.RedisServer
		change(&s)
		expect.Error(t, expect.ErrorOf(Redis(s)), want)
	}
}
