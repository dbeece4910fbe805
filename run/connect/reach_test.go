package connect

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"rivulet/config"
	"rivulet/internal/devstack"
	"rivulet/test/expect"
)

// A program that ends does not wait for ever: the error names the brokers, or the topic that is not there.
func TestKafkaThatCannotBeReached(t *testing.T) {
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"arrivals": 1}})
	expect.OK(t, err)
	defer k.Close()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // takes connections and says nothing
	expect.OK(t, err)
	defer func() { _ = silent.Close() }()
	reach := func(ctx context.Context, address string, topics ...string) error {
		b := config.Brokers{Brokers: []string{address}, ClientID: "test", SASL: config.KafkaSASL{Mechanism: config.SASLNone}}
		client, err := Kafka(b, topics...)
		expect.OK(t, err)
		defer client.Close()
		return reachWithin(ctx, 2*time.Second, b, client, topics)
	}
	expect.OK(t, reach(t.Context(), k.Addr(), "arrivals"))
	expect.Error(t, reach(t.Context(), k.Addr(), "arrivals", "arivals"),
		"topic arivals does not exist, did you mean arrivals?")
	expect.Error(t, reach(t.Context(), "127.0.0.1:1", "arrivals"), "no broker of kafka.brokers (127.0.0.1:1) answers: ")
	expect.Error(t, reach(t.Context(), silent.Addr().String(), "arrivals"), "no broker of kafka.brokers ("+
		silent.Addr().String()+") answers: ")
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
	expect.Error(t, reach(stopped, "127.0.0.1:1"), "stopped")
}
