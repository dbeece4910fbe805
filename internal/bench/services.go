package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"time"

	"rivulet/config"
	"rivulet/mapping"
	"rivulet/run/connect"
)

// Services are a Kafka and a Redis. Topics, groups and keys that a run makes there are removed at its end.
type Services struct {
	Kafka config.Brokers
	Redis config.RedisServer
	child *exec.Cmd // nil where they are given
}

// announced matches devstack's output once its services answer.
var announced = regexp.MustCompile(`^embedded (?:Kafka broker on ([^,]+),|Redis on (\S+))`)

// Embedded starts an embedded broker and Redis in a process of their own, so that their cost is not in this process's
// figures. program is the program rivulet.
func Embedded(ctx context.Context, program string) (*Services, error) {
	child := exec.CommandContext(context.WithoutCancel(ctx), program, "devstack", "--kafka", "127.0.0.1:0",
		"--redis", "127.0.0.1:0")
	child.Stderr = os.Stderr
	said, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the embedded services: %w", err)
	}
	defaults := config.Default[config.Bench]()
	s := &Services{Kafka: defaults.Kafka.Brokers, Redis: defaults.Redis, child: child}
	brokers, url := "", ""
	for lines := bufio.NewScanner(said); (brokers == "" || url == "") && lines.Scan(); {
		if found := announced.FindStringSubmatch(lines.Text()); found != nil {
			brokers, url = brokers+found[1], url+found[2]
		}
	}
	if brokers == "" || url == "" {
		return nil, errors.Join(errors.New("the embedded services did not start"), s.Close())
	}
	s.Kafka.Brokers, s.Redis.URL = []string{brokers}, config.RedisURL(url)
	return s, nil
}

// Close ends services that were started for the run.
func (s *Services) Close() error {
	if s.child == nil {
		return nil
	}
	_ = s.child.Process.Signal(os.Interrupt)
	kill := time.AfterFunc(10*time.Second, func() { _ = s.child.Process.Kill() })
	defer kill.Stop()
	err := s.child.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) { // it was interrupted
		return nil
	}
	return err
}

// withKeys gives work the Redis of the services under a prefix of its own, whose keys are removed afterwards.
func (s *Services) withKeys(ctx context.Context, work func(server config.RedisServer) error) error {
	server := s.Redis
	server.Prefix = fmt.Sprintf("%s-bench-%d", s.Redis.Prefix, time.Now().UnixNano())
	client, err := connect.Redis(server)
	if err != nil {
		return err
	}
	defer client.Close()
	err = work(server)
	ctx, done := tidying(ctx)
	defer done()
	return errors.Join(err, wipe(ctx, client, server.Prefix))
}

// wipe removes all keys of a prefix.
func wipe(ctx context.Context, client mapping.Client, prefix string) error {
	return mapping.EachMaster(ctx, client, func(ctx context.Context, node mapping.Client) error {
		for _, pattern := range []string{prefix + ":*", "{" + prefix + "}:*"} {
			keys := node.Scan(ctx, 0, pattern, 10_000).Iterator()
			for keys.Next(ctx) {
				if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
					return err
				}
			}
			if err := keys.Err(); err != nil {
				return err
			}
		}
		return nil
	})
}
