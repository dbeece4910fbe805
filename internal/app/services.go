package app

import (
	"log/slog"

	"rivulet/config"
	"rivulet/consumer/limits"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/mapping"
)

// Services opens connections as settings say.
type Services struct {
	Brokers config.Brokers
	Server  config.RedisServer
	Log     *slog.Logger
}

// Limits returns the limits of records that settings name, for consumers and for a refresh.
func Limits(l config.Limits) limits.Limits {
	return limits.Limits{Edges: l.Edges, RecordBytes: int(l.RecordBytes), IDBytes: int(l.IDBytes)}
}

// Reader returns a reader of a topic, with the offsets of a group if that is not empty. end closes its connections.
func (s Services) Reader(topic, group string) (r *kafka.Reader, end func(), err error) {
	return openReader(s.Brokers, kafka.ReaderOptions{Topic: topic, Group: group}, retry.Patience{Logger: s.Log})
}

// openReader makes a reader with connections of its own, which end closes.
func openReader(b config.Brokers, o kafka.ReaderOptions, wait retry.Patience) (r *kafka.Reader, end func(), err error) {
	client, err := ConnectKafka(b, o.Topic)
	if err != nil {
		return nil, nil, err
	}
	if r, err = kafka.NewReader(client, o, wait); err != nil {
		return nil, nil, err
	}
	return r, client.Close, nil
}

// Redis returns a client that the caller closes, and the prefix of all keys.
func (s Services) Redis() (mapping.Client, string, error) {
	client, err := ConnectRedis(s.Server)
	return client, s.Server.Prefix, err
}
