package harness

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Broker is an Apache Kafka that tools/kafka/kafka.sh runs in a directory.
type Broker struct {
	Dir  string
	Port int // the first listener's; the others follow it
}

// Listeners of a broker, by their distance from the first port. Those behind proxies begin at BehindProxies.
const (
	Plaintext = iota
	SASLPlaintext
	SSL
	SASLSSL
	controller
	BehindProxies
)

// NeedBroker returns the broker whose directory RIVULET_TEST_KAFKA_DIR names, and skips the test if there is none.
func NeedBroker(tb testing.TB) Broker {
	tb.Helper()
	dir := os.Getenv("RIVULET_TEST_KAFKA_DIR")
	if dir == "" {
		tb.Skip("RIVULET_TEST_KAFKA_DIR is not set to the directory of a broker that tools/kafka/kafka.sh runs")
	}
	text, err := os.ReadFile(filepath.Join(dir, "port"))
	if err != nil {
		tb.Fatal(err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		tb.Fatal(err)
	}
	return Broker{Dir: dir, Port: port}
}

// Addr returns the address of a listener.
func (b Broker) Addr(listener int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(b.Port+listener))
}

// Do calls kafka.sh with a command: start, stop, kill or wipe.
func (b Broker) Do(ctx context.Context, command string) error {
	root, err := Root()
	if err == nil {
		_, err = Output(ctx, nil, filepath.Join(root, "tools", "kafka", "kafka.sh"), command, b.Dir, strconv.Itoa(b.Port))
	}
	return err
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
