package kafka

import (
	"slices"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/test/expect"
)

func TestTheMostPartitionsThatAMemberHasSeenAreSharedOut(t *testing.T) {
	b := &balancer{}
	b.saw(map[string]topicView{"arrivals": {partitions: 4}})
	b.ask(time.Now(), time.Second)
	seen, err := b.UserData()
	expect.OK(t, err)
	member := func(id, data string) kafkago.GroupMember {
		return kafkago.GroupMember{ID: id, Topics: []string{"arrivals"}, UserData: []byte(data)}
	}
	got := (&balancer{}).AssignGroups([]kafkago.GroupMember{member("a", string(seen)),
		member("b", `{"partitions":{"arrivals":3},"later":true}`),
		member("c", `{"partitions":{"arrivals":2000000000}}`), member("d", "no view"), member("e", "")},
		[]kafkago.Partition{{Topic: "arrivals", ID: 0}, {Topic: "arrivals", ID: 1}})
	var all []int
	for id, topics := range got {
		if len(topics["arrivals"]) > 1 {
			t.Errorf("%s has %v of 4 partitions for 5 members", id, topics["arrivals"])
		}
		all = append(all, topics["arrivals"]...)
	}
	slices.Sort(all)
	if !slices.Equal(all, []int{0, 1, 2, 3}) || len(got) != 5 {
		t.Errorf("%v are shared out among %d members", all, len(got))
	}
}

func TestAskingAgainIsPaced(t *testing.T) {
	b, now := &balancer{}, time.Unix(0, 0)
	var pauses []time.Duration
	last := now
	for ; len(pauses) < 9; now = now.Add(time.Second) {
		if b.ask(now, 5*time.Second) {
			pauses = append(pauses, now.Sub(last))
			last = now
		}
	}
	want := []int{0, 5, 10, 20, 40, 80, 160, 300, 300}
	for k, seconds := range want {
		if pauses[k] != time.Duration(seconds)*time.Second {
			t.Fatalf("asked after pauses of %v, want %v seconds", pauses, want)
		}
	}
	b.complete()
	if !b.ask(now, 5*time.Second) {
		t.Error("not asked at once after an assignment that had all partitions")
	}
}
