package app

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
	"rivulet/internal/observe"
)

// levelKey is the key of the one setting that changes while a program runs. Files of passwords, tokens and certificates
// need no signal: they are read again by themselves.
const levelKey = "log.level"

// logging are the settings of a program that logs.
type logging interface{ Logging() config.Log }

// Run reads a program's settings and runs it with its log, which goes to w. At each SIGHUP the settings are read again,
// and the files of a consumer's pipelines: log.level changes at once, and the log names the other settings that differ,
// which need a new start.
func Run[T logging](from config.Sources, w io.Writer, program func(cfg T, log *slog.Logger) error) error {
	cfg, err := config.Load[T](from)
	if err != nil {
		return err
	}
	log, level, err := observe.NewLogger(cfg.Logging().Level, cfg.Logging().Format, w)
	if err != nil {
		return err
	}
	streams, _ := streamsOf(cfg) // the program says what is wrong with them
	hangups, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-hangups:
				reload(from, cfg, streams, log, level)
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

// streamsOf returns the pipelines of a consumer; other programs have none.
func streamsOf(cfg any) ([]config.Pipeline, error) {
	if c, is := cfg.(config.Consumer); is && len(c.Pipelines) > 0 {
		return config.Pipelines(c)
	}
	return nil, nil
}

// reload reads the settings of a program that began with cfg and these pipelines.
func reload[T logging](from config.Sources, cfg T, streams []config.Pipeline, log *slog.Logger, level *slog.LevelVar) {
	before := level.Level()
	now, err := config.Load[T](from)
	var streamsNow []config.Pipeline
	if err == nil {
		streamsNow, err = streamsOf(now)
	}
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
	others = append(others, changedStreams(streams, streamsNow, others)...)
	log.Warn("the settings were read again", "in_effect", inEffect,
		"need_a_new_start", strings.Join(others, ","))
}

// changedStreams returns the settings of pipelines that differ, as orders:batch.size, but not those that the process
// sets. A pipeline that is new or gone shows in the setting pipelines.
func changedStreams(before, now []config.Pipeline, ofProcess []string) (changed []string) {
	for _, p := range now {
		at := slices.IndexFunc(before, func(b config.Pipeline) bool { return b.Name == p.Name })
		if at < 0 {
			continue
		}
		for _, key := range config.Changed(before[at].Settings, p.Settings) {
			if key != levelKey && !slices.Contains(ofProcess, key) {
				changed = append(changed, p.Name+":"+key)
			}
		}
	}
	return changed
}

// logSettings logs the effective settings: a line for each that differs from its default, which people read, or one
// line with all of them as JSON, which programs read.
func logSettings[T logging](log *slog.Logger, cfg T) {
	settings := config.Shown(cfg)
	if cfg.Logging().Format == config.LogJSON {
		log.Info("effective settings", config.LogValues(settings)...)
		return
	}
	logChanged(log, config.Default[T](), cfg)
}

// logChanged logs a line for each setting that differs from another one's.
func logChanged[T any](log *slog.Logger, from, to T) {
	changed := config.Changed(from, to)
	for _, s := range config.Shown(to) {
		if slices.Contains(changed, s.Key) {
			log.Info("a setting that differs from its default", s.Key, s.Value)
		}
	}
}
