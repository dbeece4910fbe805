package rivulet_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"rivulet"
	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/config"
	"rivulet/internal/devstack"
	"rivulet/test/expect"
)

// A stop ends within shutdown.drain_timeout where a collector of traces takes connections and never answers. The bound
// of the test is wide, as it may run on a busy machine.
func TestAStopEndsInTimeWhileTheCollectorHangs(t *testing.T) {
	const limit, wide = time.Second, 9 * time.Second
	collector, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	expect.OK(t, err)
	var open sync.WaitGroup
	asked := make(chan struct{}, 100)
	open.Go(func() {
		for {
			in, err := collector.Accept()
			if err != nil {
				return
			}
			asked <- struct{}{}
			open.Go(func() { _, _ = io.Copy(io.Discard, in); _ = in.Close() }) // until the client gives up
		}
	})
	defer open.Wait()
	defer collector.Close()
	broker, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"arrivals": 1, "predictions": 1,
		"arrivals.dead-letters": 1}})
	expect.OK(t, err)
	defer broker.Close()
	model := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	expect.OK(t, model.Seal())
	cfg := config.Default[config.Consumer]()
	cfg.Kafka.Brokers.Brokers, cfg.HTTP.Listen, cfg.Artifact = broker.Addrs(), "", filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(cfg.Artifact, model))
	cfg.Traces.Endpoint, cfg.Traces.Share, cfg.Shutdown.DrainTimeout = "http://"+collector.Addr().String(), 1, limit
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- rivulet.RunConsumer(ctx, cfg, slog.New(slog.NewTextHandler(t.Output(), nil))) }()
	_, err = exchange(ctx, broker.Addrs(), fmt.Sprintf(`{"id": "new-1", "features": [1, 0, 2], "edges": [%q]}`,
		model.Mapping.IDs[0]))
	expect.OK(t, err)
	<-asked // spans are under way
	stop()
	select {
	case err := <-ended:
		expect.OK(t, err)
	case <-time.After(wide):
		t.Errorf("it has not ended %v after the stop, with a drain of %v; later it did with %v", wide, limit, <-ended)
	}
}
