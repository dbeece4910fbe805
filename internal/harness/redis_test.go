package harness

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// A key survives a move of its slot and the death of its master.
func TestCluster(t *testing.T) {
	c := StartCluster(t, 3, 1)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), Protocol: 2, DisableIdentity: true})
	defer func() { _ = client.Close() }()
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	slot := client.ClusterKeySlot(t.Context(), "key").Val()
	owner := int(slot) * 3 / slots
	moved := 0
	if err := c.MoveSlot(int(slot), owner, (owner+1)%3, func() { moved++ }); err != nil || moved != 1 {
		t.Fatalf("%d keys were moved: %v", moved, err)
	}
	if err := c.KillReplicated((owner + 1) % 3); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Get(t.Context(), "key").Result(); got != "value" || err != nil {
		t.Errorf("the key is %q (%v) after a move and a failover", got, err)
	}
}

func TestWatched(t *testing.T) {
	w := StartWatched(t)
	if _, err := w.Master.Do("SET", "key", "value"); err != nil {
		t.Fatal(err)
	}
	w.Failover(t)
	if got, err := w.Replica.Do("GET", "key"); got != "value" || err != nil {
		t.Errorf("the key is %v (%v) after a failover", got, err)
	}
}
