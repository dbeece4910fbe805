package config

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisServer says where Redis is: where versions are published and M's rows are read.
type RedisServer struct {
	URL          RedisURL      `key:"url" default:"redis://localhost:6379/0" check:"redis" usage:"redis://[user:password@]host:port/database, rediss:// for TLS, or unix:///socket?db=0"`
	Prefix       string        `key:"prefix" default:"rivulet" check:"prefix" usage:"beginning of all keys; installations that share a database take different ones"`
	DialTimeout  time.Duration `key:"dial_timeout" default:"5s" min:"1ms" usage:"limit of making a connection"`
	ReadTimeout  time.Duration `key:"read_timeout" default:"3s" min:"1ms" usage:"limit of reading an answer"`
	WriteTimeout time.Duration `key:"write_timeout" default:"3s" min:"1ms" usage:"limit of writing a request"`
	PoolSize     int           `key:"pool_size" default:"0" min:"0" max:"10000" unit:"connections" usage:"most connections" zero:"ten for each CPU"`
}

// Redis is what the consumer needs of Redis.
type Redis struct {
	RedisServer
	PollInterval time.Duration `key:"poll_interval" default:"1s" min:"10ms" usage:"how often CURRENT is read"`
	HeartbeatTTL time.Duration `key:"heartbeat_ttl" default:"30s" min:"1s" usage:"how long the version in use stays protected after the last sign of life"`
}

func (r Redis) problems() []Problem {
	if r.HeartbeatTTL > 2*r.PollInterval {
		return nil
	}
	return []Problem{{Key: "heartbeat_ttl", Value: r.HeartbeatTTL.String(),
		Reason: fmt.Sprintf("not more than twice poll_interval, %s: the version in use would lose its protection between two polls", r.PollInterval)}}
}

// RedisURL is a Redis URL that may hold a password. It prints itself without it, in every format; [RedisURL.Reveal]
// gives it to the client.
type RedisURL string

// Reveal is the URL as it was given, with the password.
func (u RedisURL) Reveal() string { return string(u) }

// String is the URL with the password replaced by xxxxx and without query values.
func (u RedisURL) String() string {
	if u.check() != nil {
		return "(not shown)" // who knows where the password is in it
	}
	parsed, _ := url.Parse(string(u)) // check has parsed it
	if parsed.RawQuery != "" {
		parsed.RawQuery = "…"
	}
	return parsed.Redacted()
}

// Format hides the password from every verb of package fmt, wrong ones too.
func (u RedisURL) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(s, verb), u.String())
}

// MarshalText hides the password from JSON and YAML, and from slog's handlers.
func (u RedisURL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// check tells what is wrong without repeating any part that could be the password: the parsers' messages quote what they
// could not read.
func (u RedisURL) check() error {
	parsed, err := url.Parse(string(u))
	if err != nil {
		return errors.New("not a URL; special characters of a password are percent-encoded")
	}
	switch parsed.Scheme {
	case "redis", "rediss", "unix":
	default:
		return errors.New("want a URL that begins with redis://, rediss:// or unix://")
	}
	// The client takes these for localhost: a URL without //, one without a host, and one that a # of the password ends.
	odd := parsed.Opaque != "" || parsed.Fragment != "" || parsed.Scheme != "unix" && parsed.Hostname() == ""
	if _, err := redis.ParseURL(string(u)); err != nil || odd {
		return errors.New("want redis://[user:password@]host:port/database; special characters of a password are percent-encoded")
	}
	return nil
}
