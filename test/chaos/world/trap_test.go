package world

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/test/harness"
)

// A trap springs at its moment alone, with a batch in hand that is worth it, and a commit that passes empties its hand.
func TestTrapsMoments(t *testing.T) {
	const worth = 8
	const some = worth
	for _, c := range []struct {
		name  string
		at    Moment
		batch int
		key   kmsg.Key
		meets bool
		left  int // of the batch
	}{
		{"a commit", BeforeCommit, some, kmsg.OffsetCommit, true, some},
		{"the end of a transaction", BeforeCommit, some, kmsg.EndTxn, true, some},
		{"a commit of few", BeforeCommit, 2, kmsg.OffsetCommit, false, 0},
		{"a commit of nothing", BeforeCommit, 0, kmsg.OffsetCommit, false, 0},
		{"a commit at another moment", AfterPublish, some, kmsg.OffsetCommit, false, 0},
		{"a join", InJoin, 0, kmsg.JoinGroup, true, 0},
		{"a join at another moment", BeforePublish, some, kmsg.JoinGroup, false, some},
		{"a heartbeat", BeforeCommit, some, kmsg.Heartbeat, false, some},
	} {
		one := &Trap{Prey: Prey{At: c.at, Worth: worth}, batch: c.batch, since: time.Now()}
		if got := one.meets(&harness.KafkaRequest{Key: c.key.Int16()}); got != c.meets || one.batch != c.left {
			t.Errorf("%s: %t with %d in hand, want %t with %d", c.name, got, one.batch, c.meets, c.left)
		}
	}
	late := &Trap{Prey: Prey{At: BeforeCommit, Worth: worth}, batch: 1,
		since: time.Now().Add(-time.Minute)}
	if !late.meets(&harness.KafkaRequest{Key: kmsg.OffsetCommit.Int16()}) {
		t.Error("a trap that has waited takes what comes")
	}
}

// Requests of other clients, and of one whose trap has sprung or was taken away, pass.
func TestTrapsAreOfOneClient(t *testing.T) {
	var all Traps
	request := func(client string) bool {
		return all.Request(&harness.KafkaRequest{Client: client, Key: kmsg.JoinGroup.Int16()})
	}
	one := all.Arm(Prey{Client: "stream-2", At: InJoin})
	sprung := func() bool {
		select {
		case <-one.Sprung:
			return true
		default:
			return false
		}
	}
	if !request("stream-1") || sprung() {
		t.Error("the join of another client springs the trap")
	}
	if !request("stream-2") || !sprung() || len(all.armed) > 0 {
		t.Error("the join does not spring the trap once, and pass")
	}
	one = all.Arm(Prey{Client: "stream-2", At: InJoin})
	all.Disarm(one)
	if !request("stream-2") || sprung() {
		t.Error("a trap that was taken away springs")
	}
}
