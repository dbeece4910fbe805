package harness

import (
	"os"
	"testing"
)

// After a failover the other server is the master, and takes writes.
func TestWatched(t *testing.T) {
	NeedRedis(t)
	w, err := LaunchWatched(os.Getenv(redisVariable), t.TempDir())
	t.Cleanup(w.Kill)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Failover(); err != nil {
		t.Fatal(err)
	}
	client := w.Nodes[1].Client()
	defer func() { _ = client.Close() }()
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Errorf("the replica is not the master: %v", err)
	}
}
