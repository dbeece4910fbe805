package arrivals

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/mapping"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Tests{M: m}.Run()) }

// onRedis runs a test on the embedded server, a real one and a cluster.
func onRedis(t *testing.T, test func(t *testing.T, client redis.UniversalClient, prefix string)) {
	harness.EachRedis(t, func(t *testing.T, at harness.RedisPlace) {
		client, prefix := connectAt(t, at)
		test(t, client, prefix)
	})
}

// connectAt makes a client of a place, and removes the test's keys afterwards.
func connectAt(t testing.TB, at harness.RedisPlace) (client redis.UniversalClient, prefix string) {
	t.Helper()
	client = connectTo(t, mapping.RedisOptions{URL: at.URL, Hosts: at.Hosts, Cluster: at.Cluster, MaxRetries: -1})
	t.Cleanup(func() { _ = harness.Erase(context.Background(), client, harness.Below(at.Prefix)...) })
	return client, at.Prefix + ":"
}

func connect(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	return connectTo(t, mapping.RedisOptions{URL: url, MaxRetries: -1})
}

func connectTo(t testing.TB, o mapping.RedisOptions) redis.UniversalClient {
	t.Helper()
	client, err := mapping.Connect(o)
	expect.OK(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client.(redis.UniversalClient)
}
