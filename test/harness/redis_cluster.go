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

// Cluster is a Redis Cluster of masters, and of nodes without slots that can become their replicas.
type Cluster struct {
	Nodes   []*Redis // masters first, as it was begun
	masters int
	dir     string
}

// NewCluster makes a cluster; the caller closes it. Slots are spread evenly over the masters.
func NewCluster(masters, others int) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "rivulet-redis-cluster")
	if err != nil {
		return nil, err
	}
	c := &Cluster{masters: masters, dir: dir}
	for i := range masters + others {
		node := filepath.Join(dir, strconv.Itoa(i))
		bus, err := freePort()
		if err == nil {
			err = os.Mkdir(node, 0o700)
		}
		var s *Redis
		if err == nil {
			s, err = LaunchRedis(os.Getenv(redisVariable), node, "--cluster-enabled", "yes", "--cluster-port", bus,
				"--cluster-node-timeout", "1500")
		}
		if err != nil {
			c.Close()
			return nil, err
		}
		c.Nodes = append(c.Nodes, s)
	}
	if err := c.join(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// join makes one cluster of the nodes.
func (c *Cluster) join() error {
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
		bus := s.Args[slices.Index(s.Args, "--cluster-port")+1]
		if _, err := c.Nodes[0].Do("CLUSTER", "MEET", host, port, bus); err != nil {
			return fmt.Errorf("introducing node %d: %w", i, err)
		}
	}
	return c.await()
}

// await waits until every node knows all others and that all slots are served.
func (c *Cluster) await() error {
	for i, s := range c.Nodes {
		if err := await(fmt.Sprintf("node %d of the cluster", i), func() (bool, error) {
			info, err := s.Do("CLUSTER", "INFO")
			text := fmt.Sprint(info)
			return strings.Contains(text, "cluster_state:ok") &&
				strings.Contains(text, fmt.Sprintf("cluster_known_nodes:%d", len(c.Nodes))), err
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

// SharedCluster returns a cluster of three masters without replicas that the tests of a package share, emptied.
// [Tests] ends it.
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

// Tests holds the tests of a package that share a cluster, which ends with the last test.
type Tests struct{ *testing.M }

// Run runs the tests and returns their exit status.
func (t Tests) Run() int {
	code := t.M.Run()
	if shared.cluster != nil {
		shared.cluster.Close()
	}
	return code
}
