package run

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rivulet/config"
	"rivulet/test/expect"
)

// lines receives each line of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// At a SIGHUP the level of the log changes, and the other settings that differ are named. A file that is wrong changes
// nothing.
func TestSettingsAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "consumer.yaml")
	write := func(text string) {
		expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("log: {level: info}\nkafka: {group: first}\n")
	lines := make(lines, 16)
	err := Program(config.Sources{Environ: []string{"RIVULET_CONFIG=" + path}}, lines,
		func(cfg config.Consumer, log *slog.Logger) error {
			for _, c := range []struct {
				text, says string
				debug      bool
			}{
				{"log: {level: debug}\nkafka: {group: second}\nbatch: {size: 7}\n",
					"in_effect=log.level need_a_new_start=kafka.group,batch.size", true},
				{"log: {level: loud}\n", `log.level is \"loud\"`, true},
				{"log: {level: info}\nkafka: {group: first}\n", `in_effect=log.level need_a_new_start=""`, false},
			} {
				write(c.text)
				if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
					return err
				}
				for line := <-lines; !strings.Contains(line, c.says); line = <-lines {
					t.Logf("%q is not %q", line, c.says)
				}
				if got := log.Enabled(context.Background(), slog.LevelDebug); got != c.debug {
					t.Errorf("after %q: lines of level debug are written: %t", c.text, got)
				}
			}
			if cfg.Kafka.Group != "first" {
				t.Errorf("the program began with the group %q", cfg.Kafka.Group)
			}
			return nil
		})
	expect.OK(t, err)
}
