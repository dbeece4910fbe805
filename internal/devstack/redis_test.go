package devstack

import (
	"strings"
	"testing"
	"time"

	"rivulet/mapping"
	"rivulet/test/expect"
)

func TestRedisStartsAnswersAndStops(t *testing.T) {
	server, err := StartRedis()
	expect.OK(t, err)
	client, err := mapping.Connect(mapping.RedisOptions{URL: server.URL(), MaxRetries: -1})
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	expect.OK(t, client.HSet(t.Context(), "key", "field", "value").Err())
	expect.Error(t, expect.ErrorOf(StartRedisAt(strings.TrimPrefix(server.URL(), "redis://"))),
		"starting the embedded Redis on 127.0.0.1:", "a second server on one address")
	server.Close()
	if err := client.HGet(t.Context(), "key", "field").Err(); err == nil {
		t.Error("the server answers after it was closed")
	}
}

// Keys expire, as attach.ttl wants, and others stay.
func TestRedisExpiresKeys(t *testing.T) {
	server, err := StartRedis()
	expect.OK(t, err)
	defer server.Close()
	client, err := mapping.Connect(mapping.RedisOptions{URL: server.URL(), MaxRetries: -1})
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	ctx := t.Context()
	expect.OK(t, client.Set(ctx, "short", "1", time.Second).Err())
	expect.OK(t, client.Set(ctx, "long", "1", time.Hour).Err())
	expect.OK(t, client.Set(ctx, "ever", "1", 0).Err())
	for until := time.Now().Add(time.Minute); client.Exists(ctx, "short").Val() == 1; time.Sleep(expiry) {
		if time.Now().After(until) {
			t.Fatal("the key of a second has not expired after a minute")
		}
	}
	if n := client.Exists(ctx, "long", "ever").Val(); n != 2 {
		t.Errorf("%d of the other keys are there, want 2", n)
	}
	if left := client.TTL(ctx, "long").Val(); left > time.Hour-time.Second/2 || left < time.Minute {
		t.Errorf("the key of an hour has %v left after more than a second", left)
	}
}
