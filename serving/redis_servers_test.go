package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/mapping"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// slots is the number of hash slots of a cluster.
const slots = 16384

// cluster is a Redis Cluster of real servers whose slots can be moved and whose masters can be killed.
type cluster struct{ *harness.Cluster }

// startCluster makes a cluster of masters with a replica each, and ends it with the test.
func startCluster(tb testing.TB, masters int) cluster {
	tb.Helper()
	harness.NeedRedis(tb)
	c, err := harness.NewCluster(masters, masters)
	expect.OK(tb, err)
	tb.Cleanup(c.Close)
	replicas := c.Nodes[masters:]
	for i, s := range replicas {
		if _, err := s.Do("CLUSTER", "REPLICATE", c.ID(i)); err != nil {
			tb.Fatalf("making a replica of node %d: %v", i, err)
		}
	}
	for _, s := range replicas {
		if err := await("a replica's link", func() (bool, error) {
			info, err := s.Do("INFO", "replication")
			return strings.Contains(fmt.Sprint(info), "master_link_status:up"), err
		}); err != nil {
			tb.Fatal(err)
		}
	}
	return cluster{c}
}

// moveSlot moves a slot with its keys from one master to another as redis-cli does; between the steps it calls at, when
// keys of the slot are on both sides.
func (c cluster) moveSlot(slot, from, to int, at func()) error {
	for _, step := range []struct {
		on    int
		state string
		peer  int
	}{{to, "IMPORTING", from}, {from, "MIGRATING", to}} {
		if _, err := c.Nodes[step.on].Do("CLUSTER", "SETSLOT", slot, step.state, c.ID(step.peer)); err != nil {
			return fmt.Errorf("moving slot %d: %w", slot, err)
		}
	}
	host, port, _ := net.SplitHostPort(c.Nodes[to].Addr)
	for {
		keys, err := c.Nodes[from].Do("CLUSTER", "GETKEYSINSLOT", slot, 1)
		if err != nil {
			return fmt.Errorf("moving slot %d: %w", slot, err)
		}
		left, _ := keys.([]any)
		if len(left) == 0 {
			break
		}
		if _, err := c.Nodes[from].Do("MIGRATE", host, port, left[0], 0, 5000); err != nil {
			return fmt.Errorf("moving key %v of slot %d: %w", left[0], slot, err)
		}
		at()
	}
	for _, on := range []int{to, from} {
		if _, err := c.Nodes[on].Do("CLUSTER", "SETSLOT", slot, "NODE", c.ID(to)); err != nil {
			return fmt.Errorf("moving slot %d: %w", slot, err)
		}
	}
	return nil
}

// killReplicated kills master i once its replica is up to date, and waits until the replica has taken its place.
func (c cluster) killReplicated(i int) error {
	if err := awaitReplicas(c.Nodes[i]); err != nil {
		return err
	}
	c.Nodes[i].Kill()
	return c.awaitFailover(i)
}

// awaitFailover waits until all other nodes see that node i, which was killed, is gone and that its slots are served.
func (c cluster) awaitFailover(i int) error {
	return await("a failover", func() (bool, error) {
		for k, s := range c.Nodes {
			if k == i {
				continue
			}
			info, err := s.Do("CLUSTER", "INFO")
			if err != nil || !strings.Contains(fmt.Sprint(info), "cluster_state:ok") {
				return false, err
			}
			nodes, err := s.Do("CLUSTER", "NODES")
			if err != nil {
				return false, err
			}
			for line := range strings.Lines(fmt.Sprint(nodes)) { // id addr@bus flags …
				f := strings.Fields(line)
				if strings.HasPrefix(f[1], c.Nodes[i].Addr+"@") && !strings.HasSuffix(f[2], "fail") {
					return false, nil
				}
			}
		}
		return true, nil
	})
}

// awaitReplicas waits until the replicas of a master have all its writes.
func awaitReplicas(s *harness.Redis) error {
	return await("replicas of "+s.Addr+" have all", func() (bool, error) {
		info, err := s.Do("INFO", "replication")
		if err != nil {
			return false, err
		}
		_, rest, _ := strings.Cut(fmt.Sprint(info), "master_repl_offset:")
		offset, _, _ := strings.Cut(rest, "\r")
		replicas, behind := 0, false
		for line := range strings.Lines(fmt.Sprint(info)) {
			if strings.HasPrefix(line, "slave") && strings.Contains(line, ":ip=") {
				replicas++
				behind = behind || !strings.Contains(line, "offset="+offset+",")
			}
		}
		return replicas > 0 && !behind, nil
	})
}

// watched is a master with a replica, and a sentinel that watches them under the name "rivulet".
type watched struct {
	master, replica, sentinel *harness.Redis
}

// startWatched starts them and ends them with the test. The sentinel takes a second to find a master dead.
func startWatched(tb testing.TB) *watched {
	tb.Helper()
	harness.NeedRedis(tb)
	w := &watched{master: harness.StartRedis(tb)}
	host, port, _ := net.SplitHostPort(w.master.Addr)
	w.replica = harness.StartRedis(tb, "--replicaof", host, port, "--repl-diskless-sync-delay", "0")
	addr, err := harness.FreeAddr()
	expect.OK(tb, err)
	_, own, _ := net.SplitHostPort(addr)
	dir := tb.TempDir()
	conf := filepath.Join(dir, "sentinel.conf") // the sentinel writes its state into it
	text := fmt.Sprintf("bind 127.0.0.1\nport %s\ndir %q\nlogfile %q\nsentinel monitor rivulet %s %s 1\n"+
		"sentinel down-after-milliseconds rivulet 1000\nsentinel failover-timeout rivulet 5000\n",
		own, dir, filepath.Join(dir, "redis.log"), host, port)
	expect.OK(tb, os.WriteFile(conf, []byte(text), 0o600))
	w.sentinel = &harness.Redis{Addr: addr, Dir: dir, Program: w.master.Program, Args: []string{conf, "--sentinel"}}
	expect.OK(tb, w.sentinel.Start())
	tb.Cleanup(w.sentinel.Kill)
	if err := await("the replica, as the sentinel sees it", func() (bool, error) {
		replicas, err := w.sentinel.Do("SENTINEL", "REPLICAS", "rivulet")
		text := fmt.Sprint(replicas)
		return strings.Contains(text, w.replica.Addr) && strings.Contains(text, "master-link-status ok"), err
	}); err != nil {
		tb.Fatal(err)
	}
	return w
}

// failover kills the master, once the replica has all of it, and waits until the replica is the master.
func (w *watched) failover(tb testing.TB) {
	tb.Helper()
	expect.OK(tb, awaitReplicas(w.master))
	w.master.Kill()
	if err := await("a failover", func() (bool, error) {
		role, err := w.replica.Do("ROLE")
		return strings.HasPrefix(fmt.Sprint(role), "[master"), err
	}); err != nil {
		tb.Fatal(err)
	}
}

// await asks until it is so, for two minutes.
func await(what string, so func() (bool, error)) error {
	var last error
	err := harness.Await(context.Background(), 2*time.Minute, what, func() bool {
		var done bool
		done, last = so()
		return done && last == nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// A key survives a move of its slot and the death of its master.
func TestCluster(t *testing.T) {
	c := startCluster(t, 3)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), Protocol: 2, DisableIdentity: true})
	defer func() { _ = client.Close() }()
	expect.OK(t, client.Set(t.Context(), "key", "value", 0).Err())
	slot := client.ClusterKeySlot(t.Context(), "key").Val()
	owner := int(slot) * 3 / slots
	moved := 0
	if err := c.moveSlot(int(slot), owner, (owner+1)%3, func() { moved++ }); err != nil || moved != 1 {
		t.Fatalf("%d keys were moved: %v", moved, err)
	}
	expect.OK(t, c.killReplicated((owner+1)%3))
	if got, err := client.Get(t.Context(), "key").Result(); got != "value" || err != nil {
		t.Errorf("the key is %q (%v) after a move and a failover", got, err)
	}
}

// Nodes that leave out their hosts, as behind an address translation, are reached under the host that was asked; also
// in redirections.
func TestClusterWithoutHosts(t *testing.T) {
	for _, kind := range []string{"unknown-endpoint", "hostname"} {
		t.Run(kind, func(t *testing.T) {
			c := startCluster(t, 2)
			for _, n := range c.Nodes {
				if _, err := n.Do("CONFIG", "SET", "cluster-preferred-endpoint-type", kind); err != nil {
					t.Skipf("this redis-server has no setting of endpoints: %v", err)
				}
			}
			client, err := mapping.Connect(mapping.RedisOptions{URL: "redis://" + c.Nodes[0].Addr, Cluster: true})
			expect.OK(t, err)
			defer func() { _ = client.Close() }()
			for i := range 40 {
				expect.OK(t, client.Set(t.Context(), fmt.Sprint("key", i), i, 0).Err())
			}
			slot := client.(*redis.ClusterClient).ClusterKeySlot(t.Context(), "key7").Val()
			owner := int(slot) * 2 / slots
			expect.OK(t, c.moveSlot(int(slot), owner, 1-owner, func() {}))
			for i := range 40 {
				if got, err := client.Get(t.Context(), fmt.Sprint("key", i)).Int(); got != i || err != nil {
					t.Errorf("key%d is %d (%v)", i, got, err)
				}
			}
		})
	}
}

func TestWatched(t *testing.T) {
	w := startWatched(t)
	if _, err := w.master.Do("SET", "key", "value"); err != nil {
		t.Fatal(err)
	}
	w.failover(t)
	if got, err := w.replica.Do("GET", "key"); got != "value" || err != nil {
		t.Errorf("the key is %v (%v) after a failover", got, err)
	}
}
