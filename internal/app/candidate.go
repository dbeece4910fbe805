package app

import (
	"log/slog"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/internal/observe"
	"rivulet/internal/shadow"
	"rivulet/serving"
)

// candidates gives the candidate as the consumer asks for it; a nil *Trial must not become a Version.
type candidates struct{ watcher *serving.Watcher }

func (c candidates) Current() consumer.Version {
	if trial := c.watcher.Candidate(); trial != nil {
		return trial.Version
	}
	return nil
}

// tryCandidates returns what compares candidates with the version that serves; nil if none is to be tried.
func tryCandidates(cfg config.Consumer, w wire, log *slog.Logger) (*shadow.Shadow, error) {
	watcher, ok := w.versions.(versions).source.(*serving.Watcher)
	if !ok || !cfg.Candidate.Tried() {
		return nil, nil
	}
	labels := observe.LabelOptions{Remember: 1, TTL: cfg.Labels.TTL}
	if cfg.Labels.Topic != "" {
		labels.Remember = cfg.Labels.Remember
	}
	return shadow.New(shadow.Options{Source: watcher, Path: w.path(cfg, nil, nil), Behind: 4 * int64(cfg.Batch.Size),
		Load: cfg.Candidate.Load, Labels: labels, Interval: cfg.Redis.PollInterval, Log: log})
}
