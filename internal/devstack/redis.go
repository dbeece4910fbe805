package devstack

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// Redis is an embedded server that speaks the Redis protocol and keeps everything in this process's memory.
type Redis struct {
	server *miniredis.Miniredis
}

// StartRedis starts the server on a free port of the loopback interface. The caller closes it.
func StartRedis() (*Redis, error) { return StartRedisAt("127.0.0.1:0") }

// StartRedisAt starts the server on an address, "host:port".
func StartRedisAt(addr string) (*Redis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("starting the embedded Redis on %s: %w", addr, err)
	}
	return &Redis{server: server}, nil
}

// URL returns the address for clients: redis://host:port.
func (r *Redis) URL() string { return "redis://" + r.server.Addr() }

// Close ends the connections and stops the server; its data are lost.
func (r *Redis) Close() { r.server.Close() }
