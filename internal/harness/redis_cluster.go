package harness

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// slots is the number of hash slots of a cluster.
const slots = 16384

// Cluster is a Redis Cluster of masters, each with the same number of replicas.
type Cluster struct {
	Nodes   []*Redis // masters first, as it was begun
	masters int
	dir     string
}

// StartCluster makes a cluster and ends it with the test.
func StartCluster(tb testing.TB, masters, replicas int) *Cluster {
	tb.Helper()
	NeedRedis(tb)
	c, err := NewCluster(masters, replicas)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// NewCluster makes a cluster that several tests may share; the caller closes it. Slots are spread evenly over the masters.
func NewCluster(masters, replicas int) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "rivulet-redis-cluster")
	if err != nil {
		return nil, err
	}
	c := &Cluster{masters: masters, dir: dir}
	for i := range masters * (1 + replicas) {
		node := filepath.Join(dir, strconv.Itoa(i))
		bus, err := freePort()
		if err == nil {
			err = os.Mkdir(node, 0o700)
		}
		var s *Redis
		if err == nil {
			s, err = LaunchRedis(os.Getenv(redisVariable), node, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "1500")
		}
		if err != nil {
			c.Close()
			return nil, err
		}
		c.Nodes = append(c.Nodes, s)
	}
	if err := c.join(replicas); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// join makes one cluster of the nodes.
func (c *Cluster) join(replicas int) error {
	for i, s := range c.Nodes {
		if _, err := s.Do("CLUSTER", "SET-CONFIG-EPOCH", i+1); err != nil {
			return fmt.Errorf("numbering node %d: %w", i, err)
		}
		if i < c.masters {
			if _, err := s.Do("CLUSTER", "ADDSLOTSRANGE", i*slots/c.masters, (i+1)*slots/c.masters-1); err != nil {
				return fmt.Errorf("giving slots to node %d: %w", i, err)
			}
		}
		host, port, _ := net.SplitHostPort(s.Addr)
		bus := s.args[slices.Index(s.args, "--cluster-port")+1]
		if _, err := c.Nodes[0].Do("CLUSTER", "MEET", host, port, bus); err != nil {
			return fmt.Errorf("introducing node %d: %w", i, err)
		}
	}
	if err := c.await(); err != nil {
		return err
	}
	for i := range c.masters * replicas {
		if _, err := c.Nodes[c.masters+i].Do("CLUSTER", "REPLICATE", c.ID(i%c.masters)); err != nil {
			return fmt.Errorf("making a replica of node %d: %w", i, err)
		}
	}
	for i := range c.masters * replicas {
		if err := await("a replica's link", func() (bool, error) {
			info, err := c.Nodes[c.masters+i].Do("INFO", "replication")
			return strings.Contains(fmt.Sprint(info), "master_link_status:up"), err
		}); err != nil {
			return err
		}
	}
	return nil
}

// await waits until every node knows all others and that all slots are served.
func (c *Cluster) await() error {
	for i, s := range c.Nodes {
		if err := await(fmt.Sprintf("node %d of the cluster", i), func() (bool, error) {
			info, err := s.Do("CLUSTER", "INFO")
			text := fmt.Sprint(info)
			return strings.Contains(text, "cluster_state:ok") && strings.Contains(text, fmt.Sprintf("cluster_known_nodes:%d", len(c.Nodes))), err
		}); err != nil {
			return err
		}
	}
	return nil
}

// ID returns the name of node i in the cluster.
func (c *Cluster) ID(i int) string {
	id, _ := c.Nodes[i].Do("CLUSTER", "MYID")
	return fmt.Sprint(id)
}

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() (addrs []string) {
	for _, s := range c.Nodes {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// MoveSlot moves a slot with its keys from one master to another as redis-cli does; between the steps it calls at, when
// keys of the slot are on both sides.
func (c *Cluster) MoveSlot(slot, from, to int, at func()) error {
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

// KillReplicated kills master i once its replica is up to date, and waits until the replica has taken its place.
func (c *Cluster) KillReplicated(i int) error {
	if err := c.Nodes[i].awaitReplicas(); err != nil {
		return err
	}
	c.Nodes[i].Kill()
	return c.AwaitFailover(i)
}

// AwaitFailover waits until all other nodes see that node i, which was killed, is gone and that its slots are served.
func (c *Cluster) AwaitFailover(i int) error {
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

// Close ends all nodes.
func (c *Cluster) Close() {
	for _, s := range c.Nodes {
		s.Kill()
	}
	_ = os.RemoveAll(c.dir)
}

var shared struct {
	sync.Mutex
	cluster *Cluster
}

// SharedCluster returns a cluster of three masters without replicas that the tests of a package share, emptied. [Tests] ends it.
func SharedCluster(tb testing.TB) *Cluster {
	tb.Helper()
	NeedRedis(tb)
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		c, err := NewCluster(3, 0)
		if err != nil {
			tb.Fatal(err)
		}
		shared.cluster = c
	}
	for _, s := range shared.cluster.Nodes {
		if _, err := s.Do("FLUSHALL"); err != nil {
			tb.Fatal(err)
		}
	}
	return shared.cluster
}

// closeCluster ends the shared cluster, if there is one.
func closeCluster() {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.Close()
	}
}
