package devstack

import (
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
)

// KafkaOptions describe an embedded broker.
type KafkaOptions struct {
	// Addr is the host and port at which clients reach the broker; empty means a free port of 127.0.0.1. With several
	// brokers it is the first one's, and the others take free ports of the same host.
	Addr string
	// Topics are created with this many partitions each, unless DataDir holds them already.
	Topics map[string]int
	// DataDir keeps topics and offsets over a restart; empty means in memory only.
	DataDir string
	// Brokers is the number of brokers; 0 means one.
	Brokers int
	// AutoCreate makes topics that a client's metadata request names and allows to be made, as Kafka's
	// auto.create.topics.enable does.
	AutoCreate bool
	// TLS, if not nil, makes the brokers speak only TLS.
	TLS *tls.Config
	// Users, if any, are the only users who may log in.
	Users []KafkaUser
}

// KafkaUser logs in with SASL.
type KafkaUser struct {
	Mechanism string // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	Name      string
	Password  string
	// ACLs are the only permissions of the user; nil means everything.
	ACLs []kfake.ACL
}

// Kafka is a running embedded broker.
type Kafka struct {
	// Cluster is the broker itself, for tests that inject faults.
	Cluster *kfake.Cluster
}

// StartKafka starts an embedded broker. The caller closes it.
func StartKafka(o KafkaOptions) (*Kafka, error) {
	host, port := "127.0.0.1", 0
	if o.Addr != "" {
		h, p, err := net.SplitHostPort(o.Addr)
		if err != nil {
			return nil, fmt.Errorf("embedded Kafka: address %q: %w", o.Addr, err)
		}
		if host = h; host == "" {
			host = "127.0.0.1"
		}
		if port, err = strconv.Atoi(p); err != nil || port < 0 || port > 65535 {
			return nil, fmt.Errorf("embedded Kafka: address %q: port is %q, want 0 to 65535", o.Addr, p)
		}
	}
	ports := make([]int, max(o.Brokers, 1))
	ports[0] = port
	opts := []kfake.Opt{
		kfake.Ports(ports...),
		// kfake asks for 127.0.0.1 only if it may choose the port.
		kfake.ListenFn(func(network, address string) (net.Listener, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return net.Listen(network, net.JoinHostPort(host, port)) //nolint:noctx // kfake gives none
		}),
	}
	for topic, partitions := range o.Topics {
		if partitions < 1 {
			return nil, fmt.Errorf("embedded Kafka: topic %s has %d partitions, want 1 or more", topic, partitions)
		}
		opts = append(opts, kfake.SeedTopics(int32(partitions), topic))
	}
	if o.AutoCreate {
		opts = append(opts, kfake.AllowAutoTopicCreation())
	}
	if o.TLS != nil {
		opts = append(opts, kfake.TLS(o.TLS))
	}
	opts = append(opts, users(o.Users)...)
	if o.DataDir != "" {
		opts = append(opts, kfake.DataDir(o.DataDir))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("embedded Kafka: %w", err)
	}
	return &Kafka{Cluster: cluster}, nil
}

func users(users []KafkaUser) (opts []kfake.Opt) {
	if len(users) == 0 {
		return nil
	}
	// The broker's own super user would have a known password.
	opts = append(opts, kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("SCRAM-SHA-256", "embedded", rand.Text()))
	for _, u := range users {
		if u.ACLs == nil {
			opts = append(opts, kfake.Superuser(u.Mechanism, u.Name, u.Password))
		} else {
			opts = append(opts, kfake.User(u.Mechanism, u.Name, u.Password, u.ACLs...))
		}
	}
	return opts
}

// Addrs returns the brokers' addresses.
func (k *Kafka) Addrs() []string { return k.Cluster.ListenAddrs() }

// Addr returns the first broker's address.
func (k *Kafka) Addr() string { return k.Cluster.ListenAddrs()[0] }

// Close stops the broker and waits for it.
func (k *Kafka) Close() { k.Cluster.Close() }
