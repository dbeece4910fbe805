package kafka

import (
	"context"
	"reflect"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/rawproduce"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// A broker that holds a client to a quota answers at once, and its answer says for how long (throttle_time_ms). Until
// then it reads nothing more from that connection (KIP-219). A client that sends on waits for an answer until it takes
// the broker for hung, and sends the same once more; under a quota for what is published, that is the same batch again
// and again, and as connections are pooled, a heartbeat or a commit may meet the connection as well.
//
// So requests of different kinds have pools of their own, and after such an answer the next request of its kind waits
// here, where its time has not begun yet.

// kind is a kind of requests: those that share a quota, and a pool of connections.
type kind int

const (
	otherRequests kind = iota // commits, transactions, and what is asked
	publishes
	fetching
	membership // heartbeats, joins and the coordinator that they go to
	kinds
)

// kindNames are the names in the log and in metrics.
var kindNames = [kinds]string{"other", "produce", "fetch", "group"}

// ThrottledRequests are the kinds of requests that [retry.Observer] hears of.
func ThrottledRequests() []string { return kindNames[:] }

// kindOf returns the kind of a request.
func kindOf(req kafkago.Request) kind {
	switch r := req.(type) {
	case *rawproduce.Request:
		return publishes
	case *findcoordinator.Request:
		return membership
	case *wire.Request:
		switch r.Request.(type) {
		case *kmsg.FetchRequest:
			return fetching
		case *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest, *kmsg.HeartbeatRequest, *kmsg.LeaveGroupRequest:
			return membership
		}
	}
	return otherRequests
}

// throttleOf returns for how long the broker reads nothing more from the connection of an answer.
func throttleOf(m kafkago.Response) time.Duration {
	var ms int64
	switch a := m.(type) {
	case nil:
	case *wire.Answer:
		if t, can := a.Response.(kmsg.ThrottleResponse); can {
			asked, _ := t.Throttle() // also where the version is older than KIP-219: the broker is not
			ms = int64(asked)
		}
	default: // kafka-go's answers have no method for it
		if v := reflect.Indirect(reflect.ValueOf(m)); v.Kind() == reflect.Struct {
			if f := v.FieldByName("ThrottleTimeMs"); f.IsValid() && f.CanInt() {
				ms = f.Int()
			}
		}
	}
	return time.Duration(max(0, ms)) * time.Millisecond
}

// throttleKey identifies the requests that wait together: the requests of a kind, and of fetches those to one broker.
type throttleKey struct {
	kind   kind
	broker wire.Target // of fetches
}

func throttleKeyOf(req kafkago.Request) throttleKey {
	key := throttleKey{kind: kindOf(req)}
	if r, is := req.(*wire.Request); is && key.kind == fetching {
		key.broker = r.To
	}
	return key
}

// throttles knows until when requests wait.
type throttles struct {
	mu    sync.Mutex
	until map[throttleKey]time.Time
	// pause is the pause that the last answer to a publish asked for, answers the number that asked for any.
	pause   time.Duration
	answers int64
	said    time.Time // when the log last told of it
	tell    retry.Patience
}

// remaining returns how long requests still wait.
func (t *throttles) remaining(key throttleKey) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Until(t.until[key])
}

// wait waits until requests may be sent. It returns an error only when ctx has ended.
func (t *throttles) wait(ctx context.Context, key throttleKey) error {
	for {
		left := t.remaining(key)
		if left <= 0 {
			return nil
		}
		if err := retry.Sleep(ctx, retry.SystemClock{}, left); err != nil {
			return err
		}
	}
}

// note takes note of the pause that an answer asks for, and tells of it.
func (t *throttles) note(key throttleKey, pause time.Duration) {
	now := time.Now()
	t.mu.Lock()
	if key.kind == publishes {
		if t.pause = pause; pause > 0 {
			t.answers++
		}
	}
	if pause <= 0 {
		t.mu.Unlock()
		return
	}
	if t.until == nil {
		t.until = make(map[throttleKey]time.Time)
	}
	if until := now.Add(pause); until.After(t.until[key]) {
		t.until[key] = until
	}
	tell, say := t.tell, t.said.IsZero() || now.Sub(t.said) >= throttleEvery
	if say {
		t.said = now
	}
	t.mu.Unlock()
	if say && tell.Logger != nil {
		tell.Logger.Warn("throttled: Kafka holds this client to a quota, so that it waits before it sends more. "+
			"Raise the quota of its user or client id (kafka-configs --entity-type users or clients)",
			"requests", kindNames[key.kind], "pause", pause)
	}
	if tell.Observer != nil {
		tell.Observer.Throttled(kindNames[key.kind], pause)
	}
}

// throttleEvery is the interval at which the log tells that the client is throttled, at most.
const throttleEvery = 30 * time.Second

// TellThrottles has the client tell of answers that throttle it.
func (c *Client) TellThrottles(p retry.Patience) {
	c.throttles.mu.Lock()
	defer c.throttles.mu.Unlock()
	c.throttles.tell = p
}

// PublishThrottle returns the pause that the broker asked for in its last answer to a publish, 0 if it asked for none,
// and how many answers have asked for one.
func (c *Client) PublishThrottle() (pause time.Duration, answers int64) {
	c.throttles.mu.Lock()
	defer c.throttles.mu.Unlock()
	return c.throttles.pause, c.throttles.answers
}

// awaitPublish waits until records may be sent. A transaction is not begun before that: it would stay open for as long.
func (c *Client) awaitPublish(ctx context.Context) error {
	return c.throttles.wait(ctx, throttleKey{kind: publishes})
}

// publishWaits reports whether records may not be sent yet.
func (c *Client) publishWaits() bool { return c.throttles.remaining(throttleKey{kind: publishes}) > 0 }
