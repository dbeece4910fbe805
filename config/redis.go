package config

import (
	"fmt"
	"strings"
	"time"
)

// RedisServer sets the Redis to which versions are published and from which rows of M are read, and how it is reached.
type RedisServer struct {
	URL          RedisURL      `key:"url" default:"redis://localhost:6379/0" check:"redis" usage:"redis://[user:password@]host:port/database, rediss:// for TLS, or unix:///socket?db=0; several hosts, as host:port,host:port, are nodes of a cluster or sentinels"`
	Cluster      bool          `key:"cluster" default:"false" usage:"Redis is a cluster: the hosts of url are some of its nodes, the others are found through them; database 0"`
	Sentinel     RedisSentinel `key:"sentinel"`
	Username     string        `key:"username" default:"" usage:"ACL user to log in as" zero:"the one in url, or the default user"`
	Password     Secret        `key:"password" default:"" usage:"password to log in with" zero:"the one in url, or in password_file"`
	PasswordFile string        `key:"password_file" default:"" usage:"file with the password, read again for each connection; a line break at its end is left out" zero:"password is used"`
	TLS          RedisTLS      `key:"tls"`
	DialTimeout  time.Duration `key:"dial_timeout" default:"5s" min:"1ms" usage:"limit of making a connection"`
	ReadTimeout  time.Duration `key:"read_timeout" default:"3s" min:"1ms" usage:"limit of reading an answer"`
	WriteTimeout time.Duration `key:"write_timeout" default:"3s" min:"1ms" usage:"limit of writing a request"`
	PoolTimeout  time.Duration `key:"pool_timeout" default:"4s" min:"1ms" usage:"limit of waiting for a free connection"`
	PoolSize     int           `key:"pool_size" default:"0" min:"0" max:"10000" unit:"connections" usage:"most connections to a node" zero:"ten for each CPU"`
	Retry        RedisRetry    `key:"retry"`
	Prefix       string        `key:"prefix" default:"rivulet" check:"prefix" usage:"beginning of all keys; installations that share a database take different ones"`
}

// RedisSentinel sets the master if Redis is watched by sentinels. The hosts of the URL are then sentinels,
// and user, password and database of the URL and the settings belong to the master.
type RedisSentinel struct {
	Master   string `key:"master" default:"" usage:"name of the master that the sentinels watch; the hosts of url are then sentinels" zero:"url names Redis itself"`
	Username string `key:"username" default:"" usage:"ACL user at the sentinels" zero:"the default user"`
	Password Secret `key:"password" default:"" usage:"password at the sentinels" zero:"none"`
}

// RedisTLS is for URLs that begin with rediss://. A server's certificate is verified, unless the URL
// says skip_verify.
type RedisTLS struct {
	CAFile     string `key:"ca_file" default:"" usage:"PEM file of the certificate authorities that may have signed the servers' certificates; read again for each connection" zero:"the system's"`
	CertFile   string `key:"cert_file" default:"" usage:"PEM file of this client's certificate, intermediate ones after it; read again for each connection" zero:"no client certificate"`
	KeyFile    string `key:"key_file" default:"" usage:"PEM file of the client certificate's private key; read again for each connection" zero:"no client certificate"`
	ServerName string `key:"server_name" default:"" usage:"name that all servers' certificates must have" zero:"the host of each server's address"`
}

// RedisRetry sets how a request is repeated that was lost, timed out or was refused for the moment. The pause before
// a repetition doubles and is drawn at random.
type RedisRetry struct {
	Attempts   int           `key:"attempts" default:"3" min:"0" max:"100" unit:"repetitions" usage:"how often a request is repeated" zero:"never; a cluster is asked again up to three times in any case, for redirections"`
	MinBackoff time.Duration `key:"min_backoff" default:"20ms" min:"1ms" usage:"least pause before a repetition"`
	MaxBackoff time.Duration `key:"max_backoff" default:"500ms" min:"1ms" usage:"longest pause before a repetition"`
}

// Redis is the consumer's configuration of Redis.
type Redis struct {
	RedisServer
	PollInterval  time.Duration `key:"poll_interval" default:"1s" min:"10ms" usage:"how often CURRENT is read"`
	HeartbeatTTL  time.Duration `key:"heartbeat_ttl" default:"30s" min:"1s" usage:"how long the version in use stays protected after the consumer's last heartbeat"`
	LookupTimeout time.Duration `key:"lookup_timeout" default:"2s" min:"1ms" usage:"limit of one request for rows of M, of up to 4096 ids, with its repetitions"`
	Outage        string        `key:"outage" default:"wait" oneof:"wait|degrade" usage:"while rows of M cannot be read: wait (offsets do not move), or degrade (micro-batches are predicted from the rows in memory, and predictions that lack a row are marked as degraded)"`
	Breaker       RedisBreaker  `key:"breaker"`
}

// RedisBreaker stops requests for a while after several have failed, which would fail, too.
type RedisBreaker struct {
	Failures int           `key:"failures" default:"3" min:"0" max:"1000000" unit:"lookups" usage:"lookups of rows that must fail one after another before Redis is no longer asked" zero:"it is always asked"`
	OpenFor  time.Duration `key:"open_for" default:"5s" min:"1ms" usage:"how long it is not asked; then one lookup tries whether it is back"`
}

// Degrade is the value of [Redis.Outage] on which wiring branches.
const Degrade = "degrade"

func (r Redis) problems() (found problems) {
	found.when(r.HeartbeatTTL <= 2*r.PollInterval, "heartbeat_ttl", r.HeartbeatTTL.String(), fmt.Sprintf(
		"not more than twice poll_interval, %s: the version in use would lose its protection between two polls",
		r.PollInterval))
	return found
}

// urlProblems returns the problems of the URL with the settings beside it.
func (r RedisServer) urlProblems() (found problems) {
	_, more := r.URL.Split()
	watched := r.Sentinel.Master != ""
	switch {
	case len(more) > 0 && !r.Cluster && !watched:
		found.add("url", r.URL.String(),
			"several hosts are nodes of a cluster or sentinels: set cluster or sentinel.master")
	case (r.Cluster || watched) && strings.HasPrefix(string(r.URL), "unix:"):
		found.add("url", r.URL.String(), "a socket is neither a cluster nor a sentinel: want redis:// or rediss://")
	case r.Cluster && r.URL.database() != 0:
		found.add("url", r.URL.String(), "a cluster has only database 0")
	}
	return found
}

func (r RedisServer) problems() problems {
	found := r.urlProblems()
	found.when(r.Cluster && r.Sentinel.Master != "", "sentinel.master", r.Sentinel.Master,
		"has no effect, because cluster is true")
	found.when(r.Sentinel.Master == "" && (r.Sentinel.Username != "" || r.Sentinel.Password != ""), "sentinel.master", "",
		"must not be empty if sentinel.username or sentinel.password is set")
	found.when(r.Retry.MaxBackoff < r.Retry.MinBackoff, "retry.max_backoff", r.Retry.MaxBackoff.String(),
		fmt.Sprintf("less than min_backoff, %s", r.Retry.MinBackoff))
	noTLS := ""
	if !strings.HasPrefix(string(r.URL), "rediss:") {
		noTLS = "has no effect, because url does not begin with rediss://"
	}
	return append(append(found, r.loginProblems()...), tlsProblems("tls.", r.TLS, noTLS)...)
}

func (r RedisServer) loginProblems() (found problems) {
	username, word := r.URL.Login()
	password := word != ""
	found.when(r.Username != "" && username != "", "username", r.Username, "is set, and url has a user too")
	found.when(r.Password != "" && password, "password", r.Password.String(), "is set, and url has a password too")
	found.when(r.PasswordFile != "" && (r.Password != "" || password), "password_file", r.PasswordFile,
		"is set, and so is a password")
	found.when(r.Username != "" && r.Password == "" && r.PasswordFile == "" && !password, "password", "",
		"is empty, and so is password_file: a user needs one")
	return found
}
