package integration

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// kafka asks a broker about offsets and groups.
type kafka struct{ *harness.Kafka }

// ends returns the next offset of each partition of a topic.
func (k kafka) ends(ctx context.Context, topic string) (map[int]int64, error) {
	listed, err := k.ListEndOffsets(ctx, topic)
	ends := map[int]int64{}
	for partition, end := range listed[topic] {
		ends[int(partition)] = end.Offset
	}
	return ends, err
}

// committed returns the next offset that a group has committed for partitions of a topic; partitions without one are
// left out.
func (k kafka) committed(ctx context.Context, group, topic string) (map[int]int64, error) {
	fetched, err := k.FetchOffsets(ctx, group)
	offsets := map[int]int64{}
	for partition, at := range fetched[topic] {
		offsets[int(partition)] = at.At
	}
	return offsets, err
}

// stable reports whether a group is stable and has this number of members, each of them with partitions.
func (k kafka) stable(ctx context.Context, group string, members int) (bool, error) {
	groups, err := k.DescribeGroups(ctx, group)
	if err != nil {
		return false, err
	}
	assigned := 0
	for _, m := range groups[group].Members {
		if has, ok := m.Assigned.AsConsumer(); ok && len(has.Topics) > 0 {
			assigned++
		}
	}
	return groups[group].State == "Stable" && len(groups[group].Members) == members && assigned == members, nil
}

// needBroker returns the broker whose directory RIVULET_TEST_KAFKA_DIR names, and skips the test if there is none.
func needBroker(tb testing.TB) harness.Broker {
	tb.Helper()
	dir := os.Getenv("RIVULET_TEST_KAFKA_DIR")
	if dir == "" {
		tb.Skip("RIVULET_TEST_KAFKA_DIR is not set to the directory of a broker that tools/kafka/kafka.sh runs")
	}
	text, err := os.ReadFile(filepath.Join(dir, "port"))
	expect.OK(tb, err)
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	expect.OK(tb, err)
	return harness.Broker{Dir: dir, Port: port}
}

// realOrEmbedded returns the broker of needBroker where there is one. Without it the test runs on the embedded broker,
// beside others.
func realOrEmbedded(t *testing.T) *harness.Broker {
	t.Helper()
	if os.Getenv("RIVULET_TEST_KAFKA_DIR") == "" {
		t.Parallel()
		return nil
	}
	broker := needBroker(t)
	return &broker
}

// built holds the directory of the programs that all tests share.
var built struct {
	sync.Once
	dir string
	err error
}

// newWorkshop makes a workshop in a directory of the test. The programs are built once for all tests; TestMain
// removes them.
func newWorkshop(tb testing.TB) harness.Workshop {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts programs as processes; left out with -short")
	}
	built.Do(func() {
		built.dir, built.err = os.MkdirTemp("", "rivulet-programs") //nolint:usetesting // it outlives the test
		if built.err == nil {
			built.err = harness.Build(context.Background(), built.dir)
		}
	})
	if built.err != nil {
		tb.Fatal(built.err)
	}
	return harness.Workshop{Dir: tb.TempDir(), Bin: built.dir}
}
