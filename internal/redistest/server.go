// Package redistest starts real Redis servers for tests: alone, as a cluster, under a sentinel. They listen on the
// loopback interface, keep nothing on disk but in a directory of their own, and end with the test.
//
// The variable RIVULET_TEST_REDIS_SERVER names the program, a path or redis-server (7.0 or newer). Where it is not set
// tests are skipped and say so.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Variable names the program.
const Variable = "RIVULET_TEST_REDIS_SERVER"

// Need skips a test that cannot have servers.
func Need(tb testing.TB) {
	tb.Helper()
	if os.Getenv(Variable) == "" {
		tb.Skip(Variable + " is not set to a redis-server for tests")
	}
}

// Server is one process.
type Server struct {
	Addr string // host:port, of TLS where there is a port for that
	Dir  string

	cmd  *exec.Cmd
	args []string
}

// Start starts a server with further arguments, as on redis-server's command line, and ends it with the test. The argument
// {port} is replaced by the server's port; without it the server listens there in plaintext.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	Need(tb)
	s, err := start(tb.TempDir(), args...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	return s
}

// start finds a free port; somebody else may take it before the server does.
func start(dir string, args ...string) (*Server, error) {
	var err error
	for range 5 {
		var port string
		if port, err = freePort(); err != nil {
			return nil, err
		}
		s := &Server{Addr: "127.0.0.1:" + port, Dir: dir, args: common(dir)}
		listens := false
		for _, a := range args {
			if a == "{port}" {
				a, listens = port, true
			}
			s.args = append(s.args, a)
		}
		if !listens {
			s.args = append(s.args, "--port", port)
		}
		if err = s.run(); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// common are the arguments of every server.
func common(dir string) []string {
	return []string{"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir, "--logfile", filepath.Join(dir, "redis.log")}
}

func freePort() (string, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// ready is what a server, or a sentinel, writes into its log when it has started.
var ready = []string{"Ready to accept connections", "+monitor master"}

// run starts the process and waits until it has started.
func (s *Server) run() error {
	_ = os.Remove(filepath.Join(s.Dir, "redis.log")) // of a process before
	s.cmd = exec.CommandContext(context.Background(), os.Getenv(Variable), s.args...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for range 200 {
		log, _ := os.ReadFile(filepath.Join(s.Dir, "redis.log"))
		if slices.ContainsFunc(ready, func(words string) bool { return strings.Contains(string(log), words) }) {
			return nil // it listens before that, and may still find fault with its arguments
		}
		time.Sleep(25 * time.Millisecond)
	}
	s.Kill()
	log, _ := os.ReadFile(filepath.Join(s.Dir, "redis.log"))
	return fmt.Errorf("%s does not listen on %s:\n%s", os.Getenv(Variable), s.Addr, log)
}

// URL is redis://host:port.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Kill ends the process at once; what it held is gone.
func (s *Server) Kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(syscall.SIGCONT)
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// Restart starts it again, empty, on the same port.
func (s *Server) Restart() error {
	s.Kill()
	return s.run()
}

// Hang stops the process from answering until [Server.GoOn]: connections are accepted by the system, and nobody reads them.
func (s *Server) Hang() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// GoOn ends a hang.
func (s *Server) GoOn() error { return s.cmd.Process.Signal(syscall.SIGCONT) }

// Client makes a client without retries; the caller closes it.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.Addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1})
}

// Do sends one command.
func (s *Server) Do(args ...any) (any, error) {
	client := s.Client()
	defer func() { _ = client.Close() }()
	return client.Do(context.Background(), args...).Result()
}

// errNotYet says that something has not come about in time.
var errNotYet = errors.New("not within two minutes")

// await asks until it is so.
func await(what string, so func() (bool, error)) error {
	var last error
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(25 * time.Millisecond) {
		done, err := so()
		if done && err == nil {
			return nil
		}
		last = err
	}
	return fmt.Errorf("%s: %w", what, errors.Join(errNotYet, last))
}

// awaitReplicas waits until the replicas of a master have all that it wrote.
func (s *Server) awaitReplicas() error {
	return await("replicas of "+s.Addr, func() (bool, error) {
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
