package app

import (
	"context"
	"log/slog"

	"rivulet/artifact/remote"
	"rivulet/config"
)

// Lint tries all that a consumer's settings name and that needs no connection: certificates, passwords, the mapping,
// the form of predictions, and an artifact that is pinned. It returns everything that is wrong.
func Lint(cfg config.Consumer) (wrong []error) {
	try := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	_, _, err := security(cfg.Kafka.Brokers)
	try(err)
	_, _, err = Forms(cfg.Input, cfg.Registry)
	try(err)
	_, _, err = outputCodec(cfg)
	try(err)
	_, closeStore, err := Features(cfg.Features, cfg.Limits)
	if try(err); err == nil {
		closeStore()
	}
	if cfg.Artifact != "" {
		if _, here := remote.Local(cfg.Artifact); here {
			_, err = pinnedBy(context.Background(), cfg, slog.New(slog.DiscardHandler))
			try(err)
			return wrong
		}
	}
	_, err = choice(cfg)
	try(err)
	if cfg.Artifact != "" {
		return wrong
	}
	client, err := ConnectRedis(cfg.Redis.RedisServer)
	if try(err); err == nil {
		try(client.Close())
	}
	return wrong
}
