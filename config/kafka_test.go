package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"rivulet/test/expect"
)

// No way of printing the settings, and no message about wrong ones, shows a secret; and no command line has one.
func TestSecretIsNotPrinted(t *testing.T) {
	const password = "hunter2"
	cfg := Default[Consumer]()
	cfg.Kafka.SASL.Password = password
	var printed bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X"} {
		fmt.Fprintf(&printed, verb+"\n"+verb+"\n", cfg, cfg.Kafka.SASL.Password)
	}
	slog.New(slog.NewTextHandler(&printed, nil)).Info("settings", "config", cfg, "password", cfg.Kafka.SASL.Password)
	slog.New(slog.NewJSONHandler(&printed, nil)).Info("settings", "config", cfg, "password", cfg.Kafka.SASL.Password)
	asJSON, _ := json.Marshal(cfg)
	asYAML, _ := yaml.Marshal(cfg)
	printed.Write(asJSON)
	printed.Write(asYAML)
	for _, from := range []Sources{
		{Environ: []string{"RIVULET_KAFKA_SASL_PASSWORD=" + password}},                         // with the mechanism none
		{Environ: []string{"RIVULET_KAFKA_SASL_PASSWORD=" + password, "RIVULET_BATCH_SIZE=0"}}, // with another problem
		sources(t, "kafka: {sasl: {mechanism: plain, password: ["+password+"]}}", nil),         // not a text
	} {
		_, err := Load[Consumer](from)
		if err == nil {
			t.Errorf("%+v is accepted", from.Environ)
			continue
		}
		printed.WriteString(err.Error())
	}
	if text := printed.String(); strings.Contains(text, password) ||
		strings.Contains(strings.ToLower(text), fmt.Sprintf("%x", password)) {
		t.Errorf("the password is in\n%s", text)
	}
	if cfg.Kafka.SASL.Password.Reveal() != password || !strings.Contains(printed.String(), "xxxxx") {
		t.Error("Reveal does not give the password, or xxxxx is not printed in its place")
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Flags[Consumer](flags)
	if flags.Lookup("kafka.sasl.password") != nil || flags.Lookup("kafka.sasl.password_file") == nil {
		t.Error("a secret has a flag, or the file of one has none")
	}
}

func TestKafkaConnectionSettings(t *testing.T) {
	const sasl = "--kafka.sasl.mechanism=scram-sha-512"
	word := []string{"RIVULET_KAFKA_SASL_PASSWORD=word"}
	for _, c := range []struct {
		environ []string
		flags   []string
		want    string // "" if it is accepted
	}{
		{word, []string{sasl, "--kafka.sasl.username=me"}, ""},
		{nil, []string{sasl, "--kafka.sasl.username=me", "--kafka.sasl.password_file=f"}, ""},
		{nil, []string{"--kafka.tls.enabled", "--kafka.tls.cert_file=c", "--kafka.tls.key_file=k"}, ""},
		{nil, []string{"--kafka.sasl.mechanism=gssapi"},
			"want none, plain, scram-sha-256, scram-sha-512, oauthbearer or aws-msk-iam"},
		{word, []string{sasl}, "kafka.sasl.username (default): must not be empty if the mechanism is scram-sha-512"},
		{nil, []string{sasl, "--kafka.sasl.username=me"}, "kafka.sasl.password (default): is empty, and so is password_file"},
		{word, []string{sasl, "--kafka.sasl.username=me", "--kafka.sasl.password_file=f"},
			"kafka.sasl.password_file is \"f\""},
		{nil, []string{"--kafka.sasl.mechanism=oauthbearer", "--kafka.sasl.oauth.token_url=https://issuer/token",
			"--kafka.sasl.oauth.client_id=me", "--kafka.sasl.oauth.client_secret_file=f"}, ""},
		{nil, []string{"--kafka.sasl.mechanism=oauthbearer", "--kafka.sasl.oauth.client_id=me"},
			"kafka.sasl.oauth.token_url (default): must not be empty if the mechanism is oauthbearer"},
		{nil, []string{"--kafka.sasl.mechanism=oauthbearer", "--kafka.sasl.oauth.client_id=me"},
			"kafka.sasl.oauth.client_secret (default): is empty, and so is client_secret_file"},
		{nil, []string{"--kafka.sasl.oauth.scopes=a"},
			`kafka.sasl.oauth.scopes is "a" (--kafka.sasl.oauth.scopes): has no effect, because kafka.sasl.mechanism is none`},
		{nil, []string{"--kafka.sasl.oauth.token_url=issuer"}, "want an address such as https://issuer/oauth2/token"},
		{word, nil, `kafka.sasl.password is "xxxxx" (RIVULET_KAFKA_SASL_PASSWORD): has no effect, because ` +
			`kafka.sasl.mechanism is none`},
		{nil, []string{"--kafka.tls.ca_file=ca"},
			`kafka.tls.ca_file is "ca" (--kafka.tls.ca_file): has no effect, because kafka.tls.enabled is false`},
		{nil, []string{"--kafka.tls.enabled", "--kafka.tls.cert_file=c"},
			"kafka.tls.key_file (default): must not be empty if cert_file is set"},
		{nil, []string{"--kafka.tls.enabled", "--kafka.tls.key_file=k"},
			"kafka.tls.cert_file (default): must not be empty if key_file is set"},
		{nil, []string{"--kafka.instance_id=rivulet-consumer-0"}, ""},
		{nil, []string{"--kafka.instance_id=a/b"}, "want 1 to 249 letters, digits"},
		{nil, []string{"--kafka.heartbeat_interval=6s"},
			`kafka.heartbeat_interval is "6s" (--kafka.heartbeat_interval): more than half of session_timeout, 10s`},
		{nil, []string{"--kafka.start_offset=latest"}, ""},
		{nil, []string{"--kafka.start_offset=yesterday"}, "want earliest, latest or a time as in RFC 3339"},
	} {
		_, err := Load[Consumer](sources(t, "", c.environ, c.flags...))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v: got %v, want %q", c.environ, c.flags, err, c.want)
		}
	}
}

func TestStartTime(t *testing.T) {
	for text, want := range map[string]time.Time{
		Earliest: {}, Latest: {},
		"2026-11-21T09:30:00.5+01:00": time.Date(2026, 11, 21, 8, 30, 0, 5e8, time.UTC),
	} {
		cfg, err := Load[Consumer](sources(t, `kafka: {start_offset: "`+text+`"}`, nil))
		if err != nil || !cfg.Kafka.StartTime().Equal(want) {
			t.Errorf("%s: %v, %v, want %v", text, cfg.Kafka.StartTime(), err, want)
		}
	}
	// YAML takes it for a time, without the zone in which it was written.
	expect.Error(t, expect.ErrorOf(Load[Consumer](sources(t, "kafka: {start_offset: 2026-11-21T09:30:00Z}", nil))),
		"put it in quotes", "without quotes")
}
