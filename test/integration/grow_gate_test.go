package integration

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// gate is the network between one consumer and a broker. It knows enough of Kafka's protocol to stop before a batch
// of the consumer becomes final: told to, it takes the next request that commits, OffsetCommit or the EndTxn of a
// commit, and does not pass it on. All of the batch's path is done then, but not its commit. Clients that ask where
// brokers are hear the gate's address.
type gate struct {
	*harness.Proxy
	t *testing.T

	mu      sync.Mutex
	pending map[int]int64      // offsets that the current transaction commits
	held    chan map[int]int64 // nil: everything passes
}

// newGate listens, before a consumer of the broker at target is started.
func newGate(t *testing.T, target string) *gate {
	t.Helper()
	p, err := harness.NewProxy(t.Context())
	expect.OK(t, err)
	g := &gate{Proxy: p, t: t}
	p.ServeBy(t.Context(), target, func() harness.Link { return &gateLink{gate: g} })
	t.Cleanup(p.Close)
	return g
}

// hold stops commits from now on. The next offset of each partition in the first one is sent once it arrives.
func (g *gate) hold() <-chan map[int]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = make(chan map[int]int64, 1)
	return g.held
}

// pass ends hold and all connections, which may wait for what was held back.
func (g *gate) pass() {
	g.mu.Lock()
	g.held = nil
	g.mu.Unlock()
	g.Set(harness.Refused)
	g.Set(harness.Passing)
}

// asked is a request whose response names brokers.
type asked struct{ key, version int16 }

// gateLink is one connection through the gate.
type gateLink struct {
	*gate
	open sync.Map // correlation id -> asked
}

// ToServer passes requests on, except commits that are held back.
func (l *gateLink) ToServer(to io.Writer, from io.Reader) {
	l.carry(to, from, func(frame []byte) ([]byte, error) { return l.request(frame, &l.open) })
}

// ToClient passes responses on, with the gate in the broker's place.
func (l *gateLink) ToClient(to io.Writer, from io.Reader) {
	l.carry(to, from, func(frame []byte) ([]byte, error) { return l.response(frame, &l.open) })
}

func (l *gateLink) carry(to io.Writer, from io.Reader, pass func(frame []byte) ([]byte, error)) {
	if err := frames(to, from, pass); err != nil {
		l.t.Errorf("between a consumer and the broker: %v", err)
	}
}

// frames passes frames on until a connection ends, as pass returns them; nil: not at all. An error means that pass
// cannot read the frame.
func frames(to io.Writer, from io.Reader, pass func(frame []byte) ([]byte, error)) error {
	var size [4]byte
	for {
		if _, err := io.ReadFull(from, size[:]); err != nil {
			return nil
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(from, frame); err != nil {
			return nil
		}
		frame, err := pass(frame)
		if err != nil {
			return err
		}
		if frame == nil {
			continue
		}
		if _, err := to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
			return nil
		}
	}
}

var errShort = errors.New("a frame that ends early")

// request records the requests, and holds back commits.
func (g *gate) request(frame []byte, open *sync.Map) ([]byte, error) {
	if len(frame) < 10 {
		return nil, errShort
	}
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	var offsets map[int]int64
	switch r := kmsg.RequestForKey(key).(type) {
	case *kmsg.MetadataRequest, *kmsg.FindCoordinatorRequest:
		open.Store(binary.BigEndian.Uint32(frame[4:]), asked{key, version})
		return frame, nil
	case *kmsg.TxnOffsetCommitRequest:
		if err := body(frame, version, r); err != nil {
			return nil, err
		}
		offsets = map[int]int64{}
		for _, topic := range r.Topics {
			for _, p := range topic.Partitions {
				offsets[int(p.Partition)] = p.Offset
			}
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.pending = offsets
		return frame, nil
	case *kmsg.EndTxnRequest:
		if err := body(frame, version, r); err != nil || !r.Commit {
			return frame, err
		}
		g.mu.Lock()
		offsets = g.pending
		g.mu.Unlock()
	case *kmsg.OffsetCommitRequest:
		if err := body(frame, version, r); err != nil {
			return nil, err
		}
		offsets = map[int]int64{}
		for _, topic := range r.Topics {
			for _, p := range topic.Partitions {
				offsets[int(p.Partition)] = p.Offset
			}
		}
	default:
		return frame, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == nil {
		return frame, nil
	}
	select {
	case g.held <- offsets:
	default: // not the first
	}
	return nil, nil
}

// body reads a request past its header: the client's id and, in flexible versions, tags.
func body(frame []byte, version int16, r kmsg.Request) error {
	r.SetVersion(version)
	rest := frame[8:]
	if n := int(int16(binary.BigEndian.Uint16(rest))); n > 0 && len(rest) >= 2+n {
		rest = rest[2+n:]
	} else {
		rest = rest[2:]
	}
	if r.IsFlexible() {
		if len(rest) == 0 || rest[0] != 0 {
			return fmt.Errorf("request %d of version %d: tags in its header", r.Key(), version)
		}
		rest = rest[1:]
	}
	if err := r.ReadFrom(rest); err != nil {
		return fmt.Errorf("request %d of version %d: %w", r.Key(), version, err)
	}
	return nil
}

// response puts the gate in the broker's place.
func (g *gate) response(frame []byte, open *sync.Map) ([]byte, error) {
	if len(frame) < 4 {
		return nil, errShort
	}
	of, there := open.LoadAndDelete(binary.BigEndian.Uint32(frame))
	if !there {
		return frame, nil
	}
	r := kmsg.ResponseForKey(of.(asked).key)
	r.SetVersion(of.(asked).version)
	head := 4
	if r.IsFlexible() {
		head++ // no tags
	}
	if len(frame) < head {
		return nil, errShort
	}
	if err := r.ReadFrom(frame[head:]); err != nil {
		return nil, fmt.Errorf("response %d of version %d: %w", r.Key(), r.GetVersion(), err)
	}
	host, text, err := net.SplitHostPort(g.Addr())
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	port := int32(number)
	switch r := r.(type) {
	case *kmsg.MetadataResponse:
		if len(r.Brokers) > 1 {
			return nil, fmt.Errorf("%d brokers, want one", len(r.Brokers))
		}
		for i := range r.Brokers {
			r.Brokers[i].Host, r.Brokers[i].Port = host, port
		}
	case *kmsg.FindCoordinatorResponse:
		if r.ErrorCode == 0 {
			r.Host, r.Port = host, port
		}
		for i := range r.Coordinators {
			if r.Coordinators[i].ErrorCode == 0 {
				r.Coordinators[i].Host, r.Coordinators[i].Port = host, port
			}
		}
	}
	return r.AppendTo(frame[:head:head]), nil
}
