package kafka

import (
	"encoding/json"
	"maps"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// balancer shares out the partitions of a topic among the members of a group in consecutive ranges, as kafka-go's
// RangeGroupBalancer does. That one knows only the partitions that the leader's broker knows. Here each member says in
// its user data how many it has seen of which topic, and the most that any member has seen is shared out. What a member
// saw of a topic that was deleted since does not count: the topic that was made anew may have fewer.
type balancer struct {
	mu   sync.Mutex
	view memberView
	// asked is when this member last asked for partitions that the assignment lacks, pause how long it then waits.
	asked time.Time
	pause time.Duration
}

// memberView is a member's user data, as JSON.
type memberView struct {
	// Partitions is the number of partitions that each topic has.
	Partitions map[string]int `json:"partitions"`
	// IDs are the topics' ids, without those that are not known.
	IDs map[string]topicID `json:"ids,omitempty"`
	// Asked counts how often the member has asked for partitions that an assignment lacks. Where the user data is as
	// before, a group's coordinator gives a member that joins again its old assignment.
	Asked int `json:"asked"`
	// Purpose is that of [SourceOptions].
	Purpose string `json:"purpose,omitempty"`
}

// purposeOf returns the purpose that a member's user data names.
func purposeOf(data []byte) string {
	var view memberView
	if json.Unmarshal(data, &view) != nil {
		return ""
	}
	return view.Purpose
}

// GroupProtocol is the name by which members agree on this way of sharing out partitions.
const GroupProtocol = "rivulet-range"

// mostPartitions is the most partitions of a topic that are believed of another member's user data.
const mostPartitions = 100_000

var _ kafkago.GroupBalancer = (*balancer)(nil)

// ProtocolName returns [GroupProtocol].
func (*balancer) ProtocolName() string { return GroupProtocol }

// UserData returns the partition counts seen by this member.
func (b *balancer) UserData() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return json.Marshal(b.view)
}

// AssignGroups shares out the partitions of all topics. The leader's broker has named the partitions in known.
func (b *balancer) AssignGroups(members []kafkago.GroupMember,
	known []kafkago.Partition) kafkago.GroupMemberAssignments {
	b.mu.Lock()
	own := b.view.IDs
	b.mu.Unlock()
	counts := make(map[string]int)
	for _, p := range known {
		counts[p.Topic] = max(counts[p.Topic], p.ID+1)
	}
	for _, m := range members {
		var seen memberView
		if json.Unmarshal(m.UserData, &seen) != nil {
			continue
		}
		for topic, n := range seen.Partitions {
			theirs, said := seen.IDs[topic]
			ours, known := own[topic]
			if deleted := said && known && theirs != ours; n <= mostPartitions && !deleted {
				counts[topic] = max(counts[topic], n)
			}
		}
	}
	var all []kafkago.Partition
	for topic, n := range counts {
		for id := range n {
			all = append(all, kafkago.Partition{Topic: topic, ID: id})
		}
	}
	return kafkago.RangeGroupBalancer{}.AssignGroups(members, all)
}

// saw takes note of the topics. It reports whether they have other partitions than before.
func (b *balancer) saw(topics map[string]topicView) (others bool) {
	counts, ids := make(map[string]int, len(topics)), make(map[string]topicID, len(topics))
	for topic, v := range topics {
		if counts[topic] = v.partitions; v.id != (topicID{}) {
			ids[topic] = v.id
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	others = !maps.Equal(counts, b.view.Partitions)
	b.view.Partitions, b.view.IDs = counts, ids
	return others
}

// ask reports whether it is time to ask for another assignment, as this one lacks partitions or has some that are not
// there, and takes note that the member does so. The first time is at once; the pauses double from first to
// longestAskPause.
func (b *balancer) ask(now time.Time, first time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.asked) < b.pause {
		return false
	}
	b.asked, b.pause = now, min(max(first, 2*b.pause), longestAskPause)
	b.view.Asked++
	return true
}

// longestAskPause is the longest that a member waits before it asks again for another assignment.
const longestAskPause = 5 * time.Minute

// complete takes note that the assignment has all partitions.
func (b *balancer) complete() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pause = 0
}
