package run

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"rivulet/config"
	"rivulet/internal/logs"
)

// levelKey is the key of the one setting that changes while a program runs. Files of passwords, tokens and certificates
// need no signal: they are read again by themselves.
const levelKey = "log.level"

// logging are the settings of a program that logs.
type logging interface{ Logging() config.Log }

// Program reads a program's settings and runs it with its log, which goes to w. At each SIGHUP the settings are read
// again: log.level changes at once, and the log names the other settings that differ, which need a new start.
func Program[T logging](from config.Sources, w io.Writer, program func(cfg T, log *slog.Logger) error) error {
	cfg, err := config.Load[T](from)
	if err != nil {
		return err
	}
	log, level, err := logs.NewLogger(cfg.Logging().Level, cfg.Logging().Format, w)
	if err != nil {
		return err
	}
	hangups, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-hangups:
				reload(from, cfg, log, level)
			case <-ended:
				return
			}
		}
	})
	defer wait.Wait()
	defer close(ended)
	defer signal.Stop(hangups)
	return program(cfg, log)
}

// reload reads the settings of a program that began with cfg.
func reload[T logging](from config.Sources, cfg T, log *slog.Logger, level *slog.LevelVar) {
	before := level.Level()
	now, err := config.Load[T](from)
	if err == nil {
		err = level.UnmarshalText([]byte(now.Logging().Level))
	}
	if err != nil {
		log.Error("the settings cannot be read again: nothing changes", "error", err)
		return
	}
	inEffect := ""
	if level.Level() != before {
		inEffect = levelKey
	}
	others := slices.DeleteFunc(config.Changed(cfg, now), func(key string) bool { return key == levelKey })
	log.Warn("the settings were read again", "in_effect", inEffect,
		"need_a_new_start", strings.Join(others, ","))
}

// logSettings logs the effective settings: a line for each that differs from its default, which people read, or one
// line with all of them as JSON, which programs read.
func logSettings[T logging](log *slog.Logger, cfg T) {
	settings := config.Shown(cfg)
	if cfg.Logging().Format == config.LogJSON {
		log.Info("effective settings", config.LogValues(settings)...)
		return
	}
	changed := config.Changed(config.Default[T](), cfg)
	for _, s := range settings {
		if slices.Contains(changed, s.Key) {
			log.Info("a setting that differs from its default", s.Key, s.Value)
		}
	}
}
