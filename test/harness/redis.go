package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisVariable names the program of Redis servers.
const redisVariable = "RIVULET_TEST_REDIS_SERVER"

// HasRedis reports whether tests may start servers.
func HasRedis() bool { return os.Getenv(redisVariable) != "" }

// NeedRedis skips a test that cannot have servers.
func NeedRedis(tb testing.TB) {
	tb.Helper()
	if !HasRedis() {
		tb.Skip(redisVariable + " is not set to a redis-server for tests")
	}
}

// Redis is a server on the loopback interface. It writes to disk only in its own directory.
type Redis struct {
	Addr string // host:port, of TLS if there is a port for that
	Dir  string

	Program string
	Args    []string
	process *Process
}

// StartRedis starts a server with further arguments, as on redis-server's command line, and ends it with the test.
// The argument {port} is replaced by the server's port; without it the server listens there in plaintext.
func StartRedis(tb testing.TB, args ...string) *Redis {
	tb.Helper()
	NeedRedis(tb)
	s, err := LaunchRedis(os.Getenv(redisVariable), tb.TempDir(), args...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	return s
}

// LaunchRedis starts a server in a directory, with arguments as for [StartRedis]. The caller kills it.
func LaunchRedis(program, dir string, args ...string) (*Redis, error) {
	var err error
	for range 5 { // somebody else may take the port before the server does
		var port string
		if port, err = freePort(); err != nil {
			return nil, err
		}
		s := &Redis{Addr: net.JoinHostPort("127.0.0.1", port), Dir: dir, Program: program, Args: redisArgs(dir, port, args)}
		if err = s.Start(); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func redisArgs(dir, port string, more []string) []string {
	args := []string{"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir, "--logfile",
		filepath.Join(dir, "redis.log")}
	if !slices.Contains(more, "{port}") {
		return append(append(args, more...), "--port", port)
	}
	for _, a := range more {
		if a == "{port}" {
			a = port
		}
		args = append(args, a)
	}
	return args
}

// FreeAddr returns an address on the loopback interface on which nobody listens.
func FreeAddr() (string, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func freePort() (string, error) {
	addr, err := FreeAddr()
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(addr)
	return port, err
}

// ready is the log line of a server or a sentinel that has started.
var ready = []string{"Ready to accept connections", "+monitor master"}

// Start starts the process and waits until it answers, with its data from disk loaded.
func (s *Redis) Start() (err error) {
	_ = os.Remove(filepath.Join(s.Dir, "redis.log")) // of an earlier process
	if s.process, err = Start(nil, s.Program, s.Args...); err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(20 * time.Millisecond) {
		log, _ := os.ReadFile(filepath.Join(s.Dir, "redis.log"))
		if slices.ContainsFunc(ready, func(words string) bool { return strings.Contains(string(log), words) }) {
			return nil // it listens before that, and may still find fault with its arguments
		}
		select {
		case <-s.process.Done():
			return fmt.Errorf("%s does not listen on %s: %w\n%s", s.Program, s.Addr, s.process.Wait(), log)
		default:
		}
	}
	s.Kill()
	return fmt.Errorf("%s has not begun to listen on %s for a minute", s.Program, s.Addr)
}

// Stop ends the process, with its data on the disk.
func (s *Redis) Stop(ctx context.Context) error {
	client := s.Client()
	defer func() { _ = client.Close() }()
	_ = client.ShutdownSave(ctx).Err() // it hangs up instead of answering
	return s.process.Wait()
}

// URL returns redis://host:port.
func (s *Redis) URL() string { return "redis://" + s.Addr }

// Kill ends the process at once; its data in memory are lost.
func (s *Redis) Kill() { s.process.Kill() }

// Hang stops the process from answering until [Redis.GoOn]: connections are accepted by the system, and nobody reads
// them.
func (s *Redis) Hang() error { return s.process.Signal(syscall.SIGSTOP) }

// GoOn ends a hang.
func (s *Redis) GoOn() error { return s.process.Signal(syscall.SIGCONT) }

// Client makes a client without retries; the caller closes it.
func (s *Redis) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.Addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1})
}

// Do sends one command.
func (s *Redis) Do(args ...any) (any, error) {
	client := s.Client()
	defer func() { _ = client.Close() }()
	return client.Do(context.Background(), args...).Result()
}

// await asks until the condition holds, for two minutes at most.
func await(what string, so func() (bool, error)) error {
	var last error
	err := Await(context.Background(), 2*time.Minute, what, func() bool {
		var done bool
		done, last = so()
		return done && last == nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// UsedMemory returns the memory that all nodes of Redis have allocated, in bytes.
func UsedMemory(t testing.TB, client redis.UniversalClient) int {
	t.Helper()
	var used atomic.Int64
	count := func(ctx context.Context, node *redis.Client) error {
		info, err := node.Info(ctx, "memory").Result()
		if err != nil {
			return err
		}
		_, rest, _ := strings.Cut(info, "\nused_memory:")
		text, _, _ := strings.Cut(rest, "\r")
		n, err := strconv.ParseInt(text, 10, 64)
		used.Add(n)
		return err
	}
	var err error
	switch client := client.(type) {
	case *redis.Client:
		err = count(t.Context(), client)
	case *redis.ClusterClient:
		err = client.ForEachMaster(t.Context(), count)
	}
	if err != nil {
		t.Fatal(err)
	}
	return int(used.Load())
}
