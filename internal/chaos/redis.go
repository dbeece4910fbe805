package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is a Redis process that keeps its data over an orderly stop.
type redisServer struct {
	dir    string
	port   int
	cmd    *exec.Cmd
	client *redis.Client // past the proxies
}

func newRedis(ctx context.Context, dir string) (*redisServer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &redisServer{dir: dir, port: listener.Addr().(*net.TCPAddr).Port}
	_ = listener.Close()
	s.client = redis.NewClient(&redis.Options{Addr: s.addr(), MaxRetries: -1})
	return s, s.start(ctx)
}

func (s *redisServer) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// start starts it and waits until it answers with its data loaded.
func (s *redisServer) start(ctx context.Context) error {
	s.cmd = exec.Command("redis-server", "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", //nolint:noctx // stop ends it
		"--save", "", "--appendonly", "no", "--dir", s.dir, "--logfile", filepath.Join(s.dir, "redis.log"))
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return await(ctx, time.Minute, "redis-server answers", func() bool { return s.client.Ping(ctx).Err() == nil })
}

// stop ends it, with its data on the disk.
func (s *redisServer) stop(ctx context.Context) error {
	_ = s.client.ShutdownSave(ctx).Err() // it hangs up instead of answering
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("redis-server: %w", err)
	}
	return nil
}

func (s *redisServer) signal(sig syscall.Signal) error { return s.cmd.Process.Signal(sig) }

// close ends it at once.
func (s *redisServer) close() {
	_ = s.client.Close()
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// erase removes all of a version, as an eviction or a careless hand does.
func (s *redisServer) erase(ctx context.Context, prefix, version string) error {
	for _, pattern := range []string{"{" + prefix + "}:" + version + ":*", prefix + ":" + version + ":*"} {
		all := s.client.Scan(ctx, 0, pattern, 1000).Iterator()
		for all.Next(ctx) {
			if err := s.client.Unlink(ctx, all.Val()).Err(); err != nil {
				return err
			}
		}
		if err := all.Err(); err != nil {
			return err
		}
	}
	return s.client.SRem(ctx, "{"+prefix+"}:versions", version).Err()
}

// await looks until something is so.
func await(ctx context.Context, limit time.Duration, what string, so func() bool) error {
	for begin := time.Now(); !so(); {
		if time.Since(begin) > limit {
			return fmt.Errorf("%v have passed, and not yet: %s", limit, what)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
