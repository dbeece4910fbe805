package harness

import (
	"os"
	"testing"

	"rivulet/test/expect"
)

// After a failover the other server is the master, and takes writes.
func TestWatched(t *testing.T) {
	NeedRedis(t)
	w, err := LaunchWatched(os.Getenv(redisVariable), t.TempDir())
	t.Cleanup(w.Kill)
	expect.OK(t, err)
	expect.OK(t, w.Failover())
	client := w.Nodes[1].Client()
	defer func() { _ = client.Close() }()
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Errorf("the replica is not the master: %v", err)
	}
}
