package harness

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Watched is a Redis master with a replica, and a sentinel that knows them as rivulet.
type Watched struct {
	Nodes    [2]*Redis
	Sentinel *Redis
}

// LaunchWatched starts the servers below a directory, with arguments as for [StartRedis]. The caller kills them.
func LaunchWatched(program, dir string, args ...string) (*Watched, error) {
	w := &Watched{}
	for i := range w.Nodes {
		own := filepath.Join(dir, fmt.Sprint(i))
		if err := os.MkdirAll(own, 0o700); err != nil {
			return w, err
		}
		more := args
		if i > 0 {
			host, port, _ := net.SplitHostPort(w.Nodes[0].Addr)
			more = append(append([]string{}, args...), "--replicaof", host, port, "--repl-diskless-sync-delay", "0")
		}
		var err error
		if w.Nodes[i], err = LaunchRedis(program, own, more...); err != nil {
			return w, err
		}
	}
	return w, w.watch(program, filepath.Join(dir, "sentinel"))
}

func (w *Watched) watch(program, dir string) error {
	addr, err := FreeAddr()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return err
	}
	_, own, _ := net.SplitHostPort(addr)
	host, port, _ := net.SplitHostPort(w.Nodes[0].Addr)
	conf := filepath.Join(dir, "sentinel.conf") // the sentinel writes its state into it
	// A sentinel pings once a second: with a shorter limit than a few pings it also takes the new master to be down, right
	// after the failover, and fails over a second time.
	text := fmt.Sprintf("bind 127.0.0.1\nport %s\ndir %q\nlogfile %q\nsentinel monitor rivulet %s %s 1\n"+
		"sentinel down-after-milliseconds rivulet 3000\nsentinel failover-timeout rivulet 10000\n",
		own, dir, filepath.Join(dir, "redis.log"), host, port)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return err
	}
	w.Sentinel = &Redis{Addr: addr, Dir: dir, Program: program, Args: []string{conf, "--sentinel"}}
	if err := w.Sentinel.Start(); err != nil {
		return err
	}
	return w.awaitReplica()
}

// awaitReplica waits until the sentinel sees a replica that follows the master.
func (w *Watched) awaitReplica() error {
	return await("a replica, as the sentinel sees it", func() (bool, error) {
		replicas, err := w.Sentinel.Do("SENTINEL", "REPLICAS", "rivulet")
		return strings.Contains(fmt.Sprint(replicas), "master-link-status ok"), err
	})
}

// Failover kills the master at once, whatever the replica has of its data, waits until the sentinel has made a
// master of the replica, and starts the old master, which becomes the replica.
func (w *Watched) Failover() error {
	which, err := w.master()
	if err != nil {
		return err
	}
	w.Nodes[which].Kill()
	// The sentinel is asked, not the replica: a sentinel that runs out of its failover-timeout after the replica's
	// promotion gives up, and where the old master is back by then, it makes the replica a replica again.
	if err := await("a failover", func() (bool, error) {
		now, err := w.master()
		return now != which, err
	}); err != nil {
		return err
	}
	if err := w.Nodes[which].Start(); err != nil {
		return err
	}
	if err := await("the old master follows the new one", func() (bool, error) {
		role, err := w.Nodes[which].Do("ROLE")
		return strings.HasPrefix(fmt.Sprint(role), "[slave"), err
	}); err != nil {
		return err
	}
	return w.awaitReplica()
}

// master returns the index of the node that is the master, as the sentinel sees it.
func (w *Watched) master() (int, error) {
	addr, err := w.Sentinel.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "rivulet")
	if err != nil {
		return 0, err
	}
	_, port, _ := net.SplitHostPort(w.Nodes[0].Addr)
	if strings.Contains(fmt.Sprint(addr), " "+port+"]") {
		return 0, nil
	}
	return 1, nil
}

// Kill ends all servers.
func (w *Watched) Kill() {
	for _, s := range []*Redis{w.Sentinel, w.Nodes[0], w.Nodes[1]} {
		if s != nil {
			s.Kill()
		}
	}
}
