package mapping

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"rivulet/internal/tlsclient"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// The options arrive at each kind of client.
func TestConnectToACluster(t *testing.T) {
	login := func() (string, string, error) { return "", "", errors.New("no file") }
	client := connectTo(t, RedisOptions{URL: "rediss://user:word@a:7000?read_timeout=7s", Hosts: []string{"b:7001"},
		Cluster: true,
		TLS:     tlsclient.Fixed{TLS: &tls.Config{ServerName: "redis"}}, Credentials: login, PoolSize: 9, MaxRetries: 5,
		MinBackoff: time.Millisecond})
	o := client.(*redis.ClusterClient).Options()
	expect.Same(t, []string{"a:7000", "b:7001"}, o.Addrs, "nodes")
	if o.ReadTimeout != 7*time.Second || o.WriteTimeout != 3*time.Second || o.DialTimeout != 5*time.Second ||
		o.PoolTimeout != 4*time.Second ||
		o.PoolSize != 9 || o.MaxRedirects != 5 || o.MaxRetries != -1 || o.MinRetryBackoff != time.Millisecond ||
		o.ReadOnly || !o.ContextTimeoutEnabled || o.Password != "" {
		t.Errorf("options are %+v", o)
	}
	if _, _, err := o.CredentialsProviderContext(t.Context()); err == nil {
		t.Error("the credentials are not those that were given")
	}
}

// With rediss:// each kind of client begins a handshake, and without it none does.
func TestConnectOverTLS(t *testing.T) {
	const handshake = 0x16 // the first byte of a record of TLS that holds one
	for url, want := range map[string]bool{"rediss://%s": true, "redis://%s": false} {
		for kind, o := range map[string]RedisOptions{"a server": {}, "a cluster": {Cluster: true},
			"sentinels": {Sentinel: Sentinel{Master: "m"}}} {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			expect.OK(t, err)
			o.URL, o.MaxRetries, o.DialTimeout = fmt.Sprintf(url, listener.Addr()), -1, 10*time.Second
			client := connectTo(t, o)
			ended := make(chan error, 1)
			go func() { ended <- client.Ping(t.Context()).Err() }()
			conn, err := listener.Accept()
			expect.OK(t, err)
			first := make([]byte, 1)
			_, err = io.ReadFull(conn, first)
			expect.OK(t, err)
			if got := first[0] == handshake; got != want {
				t.Errorf("%s, %s: a connection begins with % x", url, kind, first)
			}
			_, _ = conn.Close(), listener.Close()
			if <-ended == nil {
				t.Errorf("%s, %s: it was answered", url, kind)
			}
		}
	}
}

func TestConnectThroughSentinels(t *testing.T) {
	client := connectTo(t, RedisOptions{URL: "redis://user:word@a:26379/4", Hosts: []string{"b:26379"},
		Sentinel: Sentinel{Master: "m", Username: "watcher", Password: "sesame"}, MaxRetries: -1})
	o := client.(*redis.Client).Options()
	if o.DB != 4 || o.Username != "user" || o.Password != "word" || o.MaxRetries != 0 || o.ReadTimeout != 3*time.Second ||
		o.TLSConfig != nil {
		t.Errorf("options are %+v", o)
	}
}

// Options that would be left unused are refused.
func TestConnectRefuses(t *testing.T) {
	for want, o := range map[string]RedisOptions{
		"want one of the two":                 {URL: "redis://a", Cluster: true, Sentinel: Sentinel{Master: "m"}},
		"has 1 hosts besides":                 {URL: "redis://a", Hosts: []string{"b:1"}},
		"redis url is a socket":               {URL: "unix:///run/redis.sock", Cluster: true},
		"has database 2":                      {URL: "redis://a/2", Cluster: true},
		"does not begin with rediss://":       {URL: "redis://a", TLS: tlsclient.Fixed{}},
		"redis url is empty":                  {Cluster: true},
		"neither a cluster nor watched by se": {URL: "redis://a", Hosts: []string{"b:1"}},
	} {
		expect.Error(t, expect.ErrorOf(Connect(o)), want)
	}
}

// A server that is gone without a word, so that its connections stay half open, is met again behind its name: each
// attempt gives up the connections that it has tried, and those that were idle for long are not tried at all.
func TestAServerThatMoved(t *testing.T) {
	for idle, failures := range map[string]int{"": 4, "&conn_max_idle_time=1ms": 0} {
		old, next := miniredis.RunT(t), miniredis.RunT(t)
		expect.OK(t, old.Set("at", "old"))
		expect.OK(t, next.Set("at", "next"))
		name, err := harness.NewProxy(t.Context())
		expect.OK(t, err)
		t.Cleanup(name.Close)
		name.Serve(t.Context(), old.Addr())
		client := connectTo(t, RedisOptions{URL: "redis://" + name.Addr() + "?pool_size=4" + idle,
			ReadTimeout: 500 * time.Millisecond, MaxRetries: -1}).(*redis.Client)
		var all []*redis.Conn // connections at once
		for range 4 {
			one := client.Conn()
			expect.OK(t, one.Ping(t.Context()).Err())
			all = append(all, one)
		}
		for _, one := range all {
			expect.OK(t, one.Close())
		}
		name.Move(next.Addr())
		time.Sleep(5 * time.Millisecond) // more than 1 ms
		failed := 0
		for {
			at, err := client.Get(t.Context(), "at").Result()
			if err == nil {
				expect.Same(t, "next", at, "the server that answers")
				break
			}
			if failed++; failed > 100 {
				t.Fatalf("it still fails after %d attempts: %v", failed, err)
			}
		}
		expect.Same(t, failures, failed, "attempts that failed, with 4 idle connections%s", idle)
	}
}

// Each kind of client gives idle connections up after the same time, unless the URL says another one.
func TestIdleConnections(t *testing.T) {
	for query, want := range map[string]time.Duration{"": 3 * time.Minute, "?conn_max_idle_time=1h": time.Hour} {
		url := "redis://a:1" + query
		expect.Same(t, want, connectTo(t, RedisOptions{URL: url}).(*redis.Client).Options().ConnMaxIdleTime, "%s", url)
		expect.Same(t, want, connectTo(t, RedisOptions{URL: url, Cluster: true}).(*redis.ClusterClient).Options().
			ConnMaxIdleTime, "a cluster, %s", url)
		expect.Same(t, want, connectTo(t, RedisOptions{URL: url, Sentinel: Sentinel{Master: "m"}}).(*redis.Client).
			Options().ConnMaxIdleTime, "sentinels, %s", url)
	}
}
