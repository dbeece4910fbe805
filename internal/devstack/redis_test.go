package devstack

import (
	"strings"
	"testing"

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
