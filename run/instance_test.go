package run

import (
	"os"
	"strings"
	"testing"

	"rivulet/config"
	"rivulet/test/expect"
)

// The default name in the group is the host's, with the port of http.listen; where that port is not fixed, two starts
// would have two names, and there is none.
func TestInstanceID(t *testing.T) {
	host, err := os.Hostname()
	expect.OK(t, err)
	for _, c := range []struct {
		set, listen, id string
		byDefault       bool
	}{
		{"", ":9464", instanceOf(host, "9464"), true},
		{"", "127.0.0.1:80", instanceOf(host, "80"), true},
		{"", "[::1]:9464", instanceOf(host, "9464"), true},
		{"", "", "", false},
		{"", ":0", "", false},
		{"", "127.0.0.1:00", "", false},
		{"pod-0", ":9464", "pod-0", false},
		{"pod-0", "", "pod-0", false},
	} {
		var cfg config.Consumer
		cfg.Kafka.InstanceID, cfg.HTTP.Listen = c.set, c.listen
		if id, byDefault := instanceID(cfg); id != c.id || byDefault != c.byDefault {
			t.Errorf("%q listening on %q: %q (by default %v), want %q (%v)", c.set, c.listen, id, byDefault, c.id, c.byDefault)
		}
	}
}

// A default name has only what Kafka takes.
func TestInstanceOf(t *testing.T) {
	for host, want := range map[string]string{
		"web-1.example.org":      "web-1.example.org-9464",
		"my_host":                "my_host-9464",
		"büro mac":               "b-ro-mac-9464",
		"a/b:c\x00":              "a-b-c--9464",
		"..":                     "..-9464",
		strings.Repeat("x", 300): strings.Repeat("x", 244) + "-9464",
	} {
		if got := instanceOf(host, "9464"); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}
