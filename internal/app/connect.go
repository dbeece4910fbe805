package app

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"

	"rivulet/config"
	"rivulet/mapping"
)

// ConnectRedis makes a client. It does not reach out yet; the caller closes it.
func ConnectRedis(s config.RedisServer) (redis.UniversalClient, error) {
	return mapping.Connect(mapping.RedisOptions{URL: s.URL.Reveal(), DialTimeout: s.DialTimeout, ReadTimeout: s.ReadTimeout,
		WriteTimeout: s.WriteTimeout, PoolSize: s.PoolSize})
}

// Times of Kafka connections.
const (
	dialTimeout = 10 * time.Second
	metadataTTL = 2 * time.Second // how long a change of leaders may go unnoticed
	idleTimeout = 5 * time.Minute
)

// Transport carries requests to Kafka.
func Transport(b config.Brokers) *kafka.Transport {
	return &kafka.Transport{ClientID: b.ClientID, DialTimeout: dialTimeout, MetadataTTL: metadataTTL, IdleTimeout: idleTimeout}
}

// Compression is a codec by its name in Kafka's own settings.
func Compression(name string) (kafka.Compression, error) {
	if name == "none" {
		return 0, nil
	}
	var c kafka.Compression
	if err := c.UnmarshalText([]byte(name)); err != nil {
		return 0, fmt.Errorf("compression is %q: %w", name, err)
	}
	return c, nil
}

// instance names this process among others on this and other hosts.
func instance() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return net.JoinHostPort(host, strconv.Itoa(os.Getpid())) + "@" + strconv.FormatInt(time.Now().UnixNano(), 36)
}
