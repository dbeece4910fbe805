package connect

import (
	"log/slog"

	"rivulet/config"
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

// Reader returns a reader of a topic, with the offsets of a group if that is not empty. end closes its connections.
func (s Services) Reader(topic, group string) (r *kafka.Reader, end func(), err error) {
	return Reader(s.Brokers, kafka.ReaderOptions{Topic: topic, Group: group}, retry.Patience{Logger: s.Log})
}

// Reader makes a reader with connections of its own, which end closes.
func Reader(b config.Brokers, o kafka.ReaderOptions, wait retry.Patience) (r *kafka.Reader, end func(), err error) {
	client, err := Kafka(b, o.Topic)
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
	client, err := Redis(s.Server)
	return client, s.Server.Prefix, err
}
