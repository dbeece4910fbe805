package app

import (
	"net"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/config"
	"rivulet/mapping"
)

// ConnectRedis makes a client. It does not reach out yet; the caller closes it.
func ConnectRedis(s config.RedisServer) (redis.UniversalClient, error) {
	return mapping.Connect(mapping.RedisOptions{URL: s.URL.Reveal(), DialTimeout: s.DialTimeout, ReadTimeout: s.ReadTimeout,
		WriteTimeout: s.WriteTimeout, PoolSize: s.PoolSize})
}

// instance names this process among others on this and other hosts.
func instance() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return net.JoinHostPort(host, strconv.Itoa(os.Getpid())) + "@" + strconv.FormatInt(time.Now().UnixNano(), 36)
}
