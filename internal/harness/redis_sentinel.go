package harness

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Watched is a master with a replica, and a sentinel that watches them under the name "rivulet".
type Watched struct {
	Master, Replica, Sentinel *Redis
}

// StartWatched starts them and ends them with the test. The sentinel takes a second to find a master dead.
func StartWatched(tb testing.TB) *Watched {
	tb.Helper()
	NeedRedis(tb)
	w := &Watched{Master: StartRedis(tb)}
	host, port, _ := net.SplitHostPort(w.Master.Addr)
	w.Replica = StartRedis(tb, "--replicaof", host, port, "--repl-diskless-sync-delay", "0")
	sentinel, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	conf := filepath.Join(dir, "sentinel.conf") // the sentinel writes its state into it
	text := fmt.Sprintf("bind 127.0.0.1\nport %s\ndir %q\nlogfile %q\nsentinel monitor rivulet %s %s 1\n"+
		"sentinel down-after-milliseconds rivulet 1000\nsentinel failover-timeout rivulet 5000\n",
		sentinel, dir, filepath.Join(dir, "redis.log"), host, port)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	w.Sentinel = &Redis{Addr: "127.0.0.1:" + sentinel, Dir: dir, program: os.Getenv(redisVariable), args: []string{conf, "--sentinel"}}
	if err := w.Sentinel.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(w.Sentinel.Kill)
	if err := await("the replica, as the sentinel sees it", func() (bool, error) {
		replicas, err := w.Sentinel.Do("SENTINEL", "REPLICAS", "rivulet")
		text := fmt.Sprint(replicas)
		return strings.Contains(text, w.Replica.Addr) && strings.Contains(text, "master-link-status ok"), err
	}); err != nil {
		tb.Fatal(err)
	}
	return w
}

// Failover kills the master, once the replica has all of it, and waits until the replica is the master.
func (w *Watched) Failover(tb testing.TB) {
	tb.Helper()
	if err := w.Master.awaitReplicas(); err != nil {
		tb.Fatal(err)
	}
	w.Master.Kill()
	if err := await("a failover", func() (bool, error) {
		role, err := w.Replica.Do("ROLE")
		return strings.HasPrefix(fmt.Sprint(role), "[master"), err
	}); err != nil {
		tb.Fatal(err)
	}
}
