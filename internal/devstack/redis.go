package devstack

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Redis is an embedded server that speaks the Redis protocol and keeps everything in this process's memory.
type Redis struct {
	server *miniredis.Miniredis
	end    func() // ends expire and waits for it; may be called again
}

// StartRedis starts the server on a free port of the loopback interface. The caller closes it.
func StartRedis() (*Redis, error) { return StartRedisAt("127.0.0.1:0") }

// StartRedisAt starts the server on an address, "host:port".
func StartRedisAt(addr string) (*Redis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("starting the embedded Redis on %s: %w", addr, err)
	}
	r, ended := &Redis{server: server}, make(chan struct{})
	var clock sync.WaitGroup
	clock.Go(func() { r.expire(ended) })
	r.end = sync.OnceFunc(func() { close(ended); clock.Wait() })
	return r, nil
}

// expiry is the delay with which a key may expire.
const expiry = 100 * time.Millisecond

// expire lets keys expire until it is ended: the server has no clock of its own.
func (r *Redis) expire(ended <-chan struct{}) {
	tick := time.NewTicker(expiry)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ended:
			return
		case <-tick.C:
			now := time.Now()
			r.server.FastForward(now.Sub(last))
			last = now
		}
	}
}

// URL returns the address for clients: redis://host:port.
func (r *Redis) URL() string { return "redis://" + r.server.Addr() }

// Close ends the connections and stops the server; its data are lost.
func (r *Redis) Close() {
	r.end()
	r.server.Close()
}
