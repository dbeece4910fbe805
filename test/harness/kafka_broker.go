package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Broker is an Apache Kafka that tools/kafka/kafka.sh runs in a directory.
type Broker struct {
	Dir     string
	Port    int    // the first listener's; the others follow it
	Cluster []int  // Port of each broker of its cluster, in order of their numbers; nil: it is alone
	Proxies []int  // ports of the proxies before its listeners BehindProxies and on
	Heap    string // its memory, as Java's -Xmx has it; empty: kafka.sh's default
}

// Listeners of a broker, by their distance from the first port. Listeners behind proxies begin at BehindProxies.
const (
	Plaintext = iota
	SASLPlaintext
	SSL
	SASLSSL
	controller
	BehindProxies
)

// Addr returns the address of a listener.
func (b Broker) Addr(listener int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(b.Port+listener))
}

// Do calls kafka.sh with a command: start, stop, kill or wipe.
func (b Broker) Do(ctx context.Context, command string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	var variables []string
	for name, value := range map[string]string{"KAFKA_NODES": words(b.Cluster), "KAFKA_PROXIES": words(b.Proxies),
		"KAFKA_HEAP": b.Heap} {
		if value != "" {
			variables = append(variables, name+"="+value)
		}
	}
	_, err = OutputIn(ctx, variables, nil, filepath.Join(root, "tools", "kafka", "kafka.sh"), command, b.Dir,
		strconv.Itoa(b.Port))
	return err
}

// words returns numbers with spaces between them.
func words(numbers []int) string {
	return strings.Trim(fmt.Sprint(numbers), "[]")
}

// Brokers is a cluster of brokers; broker i has the number i+1.
type Brokers []Broker

// NewBrokers describes n brokers with directories below dir. ports gives the first port of each; the ports up to
// BehindProxies plus the number of its proxies must be free. Nothing is started.
func NewBrokers(dir string, ports []int, proxies [][]int, heap string) Brokers {
	all := make(Brokers, len(ports))
	for i, port := range ports {
		all[i] = Broker{Dir: filepath.Join(dir, strconv.Itoa(i+1)), Port: port, Cluster: ports,
			Proxies: proxies[i], Heap: heap}
	}
	return all
}

// Do calls kafka.sh for all brokers at once: the first start of one waits for a majority.
func (b Brokers) Do(ctx context.Context, command string) error {
	var wait sync.WaitGroup
	failed := make([]error, len(b))
	for i := range b {
		wait.Go(func() { failed[i] = b[i].Do(ctx, command) })
	}
	wait.Wait()
	return errors.Join(failed...)
}

// Addrs returns the plaintext addresses.
func (b Brokers) Addrs() (addrs []string) {
	for _, each := range b {
		addrs = append(addrs, each.Addr(Plaintext))
	}
	return addrs
}

// Root returns the directory of this module, above the one that the process works in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in a Go module", dir)
		}
	}
}
