package serving

import (
	"errors"
	"strings"
	"testing"

	"rivulet/mapping"
	"rivulet/test/harness"
)

// A Redis that removes any key when it is full is refused, by who publishes and by a consumer that starts; one that
// serves goes on. Where only what expires is removed, or Redis does not tell, this is a warning.
func TestEvictionPolicies(t *testing.T) {
	harness.NeedRedis(t)
	server := harness.StartRedis(t)
	s := newServer(t, mapping.RedisOptions{URL: server.URL()}, "test")
	b := bundle(t, 1, "v1")
	policy := func(name string) {
		t.Helper()
		if _, err := server.Do("CONFIG", "SET", "maxmemory-policy", name); err != nil {
			t.Fatal(err)
		}
	}
	publish := func() (warnings []string, err error) {
		return warnings, s.publisher(t).Publish(t.Context(), b, PublishOptions{Warn: func(text string) {
			warnings = append(warnings, text)
		}})
	}
	if warnings, err := publish(); err != nil || len(warnings) != 0 {
		t.Errorf("noeviction: %v, %q", err, warnings)
	}
	serves, log := s.watcher(t, "serves")
	mustServe(t, serves, "v1")
	log.take()

	policy("volatile-lru")
	if warnings, err := publish(); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "volatile-lru") {
		t.Errorf("volatile-lru: %v, %q", err, warnings)
	}
	starts, warned := s.watcher(t, "starts")
	mustServe(t, starts, "v1")
	if got := warned.take(); len(got) != 2 || !strings.Contains(got[0], "volatile-lru") {
		t.Errorf("logged %q", got)
	}

	policy("allkeys-lru")
	if _, err := publish(); !errors.Is(err, mapping.ErrEvicts) || !mapping.Refused(err) ||
		!strings.Contains(err.Error(), "allkeys-lru") {
		t.Errorf("publishing: %v", err)
	}
	third, _ := s.watcher(t, "third")
	if err := tick(t, third); !errors.Is(err, mapping.ErrEvicts) || third.lockedOut(err) == nil {
		t.Errorf("a consumer that starts: %v", err)
	}
	policy("noeviction")
	s.publish(t, bundle(t, 2, "v2"))
	policy("allkeys-lru")
	mustServe(t, serves, "v2")
	if got := log.take(); len(got) != 2 || !strings.Contains(got[0], "allkeys-lru") {
		t.Errorf("a consumer that serves logged %q", got)
	}
	policy("noeviction")

	// A managed Redis may refuse INFO as well as CONFIG.
	if _, err := server.Do("ACL", "SETUSER", "default", "-info", "-config"); err != nil {
		t.Fatal(err)
	}
	if warnings, err := publish(); err != nil || len(warnings) != 1 ||
		!strings.Contains(warnings[0], "INFO memory is not allowed") {
		t.Errorf("without INFO: %v, %q", err, warnings)
	}
}

// The masters of a cluster are all asked.
func TestEvictionPolicyOfACluster(t *testing.T) {
	c := harness.SharedCluster(t)
	at := c.Place(t)
	s := newServer(t, mapping.RedisOptions{URL: at.URL, Hosts: at.Hosts, Cluster: true}, at.Prefix)
	last := c.Nodes[len(c.Nodes)-1]
	if _, err := last.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = last.Do("CONFIG", "SET", "maxmemory-policy", "noeviction") }()
	if err := s.publisher(t).Publish(t.Context(), bundle(t, 1, "v1"), PublishOptions{}); !errors.Is(err,
		mapping.ErrEvicts) {
		t.Errorf("error = %v, want that one master evicts", err)
	}
}
