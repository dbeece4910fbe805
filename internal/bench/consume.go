package bench

import (
	"context"
	"log/slog"

	"rivulet/config"
	"rivulet/internal/app"
)

// settings are the consumer's settings for one stream: defaults, except for its input and output.
func (s *streams) settings(j *journey) config.Consumer {
	cfg := config.Default[config.Consumer]()
	cfg.Kafka.Brokers, cfg.Redis.RedisServer = s.services.Kafka, s.redis
	cfg.Kafka.Group = j.group
	cfg.Kafka.Topics = config.Topics{Arrivals: j.in, Predictions: j.out, DeadLetters: j.letters}
	cfg.Output.Format = j.form.name
	cfg.HTTP.Listen = ""
	return cfg
}

// consume is the consumer as production runs it, in this process.
func (s *streams) consume(ctx context.Context, j *journey, m *meter, delivery string) error {
	cfg := s.settings(j)
	cfg.Delivery = delivery
	return app.RunConsumer(ctx, cfg, slog.New(slog.DiscardHandler), m)
}
