package mapping

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"rivulet/internal/tlsclient"
)

// RedisOptions say how to reach Redis: one server, a cluster, or the master that sentinels watch. If a field is
// zero, the URL's query applies (read_timeout=1s, pool_size=32, …), and otherwise the default.
type RedisOptions struct {
	// URL is redis://user:password@host:port/database, rediss://… with TLS, or unix:///path?db=0. It has no default.
	URL string
	// Hosts are further nodes of the cluster or further sentinels, host:port, used like the URL's host.
	Hosts []string
	// Cluster says that the hosts are nodes of a Redis Cluster. The others are found through them; all reads go to
	// masters.
	Cluster bool
	// Sentinel, if its Master is not empty, says that the hosts are sentinels. User, password and database of the URL
	// still belong to the master.
	Sentinel Sentinel
	// Credentials is called for each connection, in place of the URL's user and password; nil: the URL's.
	Credentials func() (username, password string, err error)
	// TLS is used with rediss://; nil: the system's authorities. An empty ServerName is the host of each address.
	TLS tlsclient.Source

	// DialTimeout bounds one attempt to connect; default 5s.
	DialTimeout time.Duration
	// ReadTimeout and WriteTimeout bound the wait for one answer and for sending one request; a pipeline counts as one
	// of either; default 3s.
	ReadTimeout, WriteTimeout time.Duration
	// PoolSize is the number of connections to a node at most; default ten for each CPU.
	PoolSize int
	// PoolTimeout bounds the waiting for a free connection; default 4s.
	PoolTimeout time.Duration
	// MaxRetries is the number of times that a command is repeated after a lost connection, a time-out or an answer that
	// asks for a retry; default 3, −1 never. A cluster's client counts redirections as retries and takes 3 at least.
	MaxRetries int
	// MinBackoff and MaxBackoff bound the pause before a retry, which doubles and is drawn at random; default 20ms
	// and 500ms.
	MinBackoff, MaxBackoff time.Duration
}

// clusterStateTTL is the time for which a client of a cluster may miss that another node has taken over a dead one's
// slots: a dead node sends no redirections.
const clusterStateTTL = 2 * time.Second

// idleTime bounds by default how long a connection may be idle before it is closed: as long as any other wait lasts
// before it starts over. A server may be gone without a word, and another one may have its name. Each attempt then
// costs a time-out for each connection that it tries, and gives it up; those that were not tried are given up after
// this time.
const idleTime = 3 * time.Minute

// Sentinel is the name of a master, and the login for the sentinels, which know its address.
type Sentinel struct{ Master, Username, Password string }

// Connect makes a client. It does not connect yet: the first command does. The caller closes the client.
func Connect(o RedisOptions) (Client, error) {
	if o.URL == "" {
		return nil, errors.New("redis url is empty, want redis://host:port/database")
	}
	options, err := redis.ParseURL(o.URL)
	if err != nil {
		// The reason would quote the URL, which may hold the password.
		return nil, errors.New("redis url cannot be read, want redis://user:password@host:port/database (special " +
			"characters percent-encoded), rediss://… or unix://…")
	}
	if err := o.checkMode(options); err != nil {
		return nil, err
	}
	o.apply(options)
	silence()
	switch {
	case o.Cluster:
		cluster := o.universal(options).Cluster()
		cluster.MaxRetries = -1 // the cluster's client has its own retries, redirections too
		cluster.ClusterStateReloadInterval = clusterStateTTL
		host, _, _ := net.SplitHostPort(options.Addr)
		cluster.NewClient = (&endpoints{asked: host}).newClient
		return redis.NewClusterClient(cluster), nil
	case o.Sentinel.Master != "":
		return redis.NewFailoverClient(o.universal(options).Failover()), nil
	}
	return redis.NewClient(options), nil
}

// checkMode refuses options that would be left unused.
func (o *RedisOptions) checkMode(options *redis.Options) error {
	one := !o.Cluster && o.Sentinel.Master == ""
	switch {
	case o.Cluster && o.Sentinel.Master != "":
		return fmt.Errorf("redis is a cluster, and has a master %q that sentinels watch: want one of the two",
			o.Sentinel.Master)
	case one && len(o.Hosts) > 0:
		return fmt.Errorf("redis has %d hosts besides the one of its url, and is neither a cluster nor watched by sentinels",
			len(o.Hosts))
	case !one && options.Network == "unix":
		return errors.New("redis url is a socket, which is neither a cluster nor a sentinel")
	case o.Cluster && options.DB != 0:
		return fmt.Errorf("redis url has database %d, a cluster has database 0 alone", options.DB)
	case o.TLS != nil && options.TLSConfig == nil:
		return errors.New("redis has settings of TLS, and its url does not begin with rediss://")
	}
	return nil
}

// apply sets the options in place of the URL's, and defaults where neither says anything.
func (o *RedisOptions) apply(options *redis.Options) {
	options.DialTimeout = cmp.Or(o.DialTimeout, options.DialTimeout, 5*time.Second)
	options.ReadTimeout = cmp.Or(o.ReadTimeout, options.ReadTimeout, 3*time.Second)
	options.WriteTimeout = cmp.Or(o.WriteTimeout, options.WriteTimeout, 3*time.Second)
	options.PoolSize = cmp.Or(o.PoolSize, options.PoolSize, 10*runtime.GOMAXPROCS(0))
	options.PoolTimeout = cmp.Or(o.PoolTimeout, options.PoolTimeout, 4*time.Second)
	options.MaxRetries = cmp.Or(o.MaxRetries, options.MaxRetries, 3)
	options.MinRetryBackoff = cmp.Or(o.MinBackoff, options.MinRetryBackoff, 20*time.Millisecond)
	options.MaxRetryBackoff = cmp.Or(o.MaxBackoff, options.MaxRetryBackoff, 500*time.Millisecond)
	options.ConnMaxIdleTime = cmp.Or(options.ConnMaxIdleTime, idleTime)
	// A dial that fails is retried with its command, not by itself.
	options.DialerRetries = 1
	options.ContextTimeoutEnabled = true
	// No feature of newer protocols is used on connecting, so an ACL need not allow any.
	options.Protocol = 2
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if options.TLSConfig != nil {
		d := &tlsclient.Dialer{Dialer: net.Dialer{Timeout: options.DialTimeout, KeepAlive: 5 * time.Minute}, From: o.TLS}
		if d.From == nil {
			d.From = tlsclient.Fixed{TLS: &tls.Config{MinVersion: tls.VersionTLS12}}
		}
		if options.TLSConfig.InsecureSkipVerify { // the URL's skip_verify
			d.From = unverified{d.From}
		}
		options.Dialer, options.TLSConfig = d.DialContext, nil
	}
	if credentials := o.Credentials; credentials != nil {
		options.Username, options.Password = "", ""
		options.CredentialsProviderContext = func(context.Context) (string, string, error) { return credentials() }
	}
}

// unverified takes any certificate of a server.
type unverified struct{ tlsclient.Source }

// Config returns the settings without the verification.
func (u unverified) Config() (*tls.Config, error) {
	config, err := u.Source.Config()
	if err != nil {
		return nil, err
	}
	config = config.Clone()
	config.InsecureSkipVerify = true
	return config, nil
}

// universal converts options for the clients of several servers.
func (o *RedisOptions) universal(options *redis.Options) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs: append([]string{options.Addr}, o.Hosts...), DB: options.DB,
		MasterName: o.Sentinel.Master, SentinelUsername: o.Sentinel.Username, SentinelPassword: o.Sentinel.Password,
		Username: options.Username, Password: options.Password,
		CredentialsProviderContext: options.CredentialsProviderContext,
		Dialer:                     options.Dialer, ClientName: options.ClientName,
		DialTimeout: options.DialTimeout, ReadTimeout: options.ReadTimeout, WriteTimeout: options.WriteTimeout,
		PoolSize: options.PoolSize, PoolTimeout: options.PoolTimeout, PoolFIFO: options.PoolFIFO,
		MinIdleConns: options.MinIdleConns, MaxIdleConns: options.MaxIdleConns, MaxActiveConns: options.MaxActiveConns,
		ConnMaxIdleTime: options.ConnMaxIdleTime, ConnMaxLifetime: options.ConnMaxLifetime,
		MaxRetries: options.MaxRetries, MaxRedirects: max(3, options.MaxRetries),
		MinRetryBackoff: options.MinRetryBackoff, MaxRetryBackoff: options.MaxRetryBackoff,
		DialerRetries: options.DialerRetries, ContextTimeoutEnabled: options.ContextTimeoutEnabled,
		Protocol: options.Protocol, DisableIdentity: options.DisableIdentity,
		MaintNotificationsConfig: options.MaintNotificationsConfig,
	}
}

// silence stops the client library from printing to standard error: it returns the same messages as
// errors, which are handled there.
var silence = sync.OnceFunc(func() { redis.SetLogger(quiet{}) })

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}
