package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// broker answers requests on one end of a pipe: those of versions by itself, others with a body.
type broker struct {
	net.Conn            // the other end, as a client has it
	versions [][3]int16 // of requests: key, first and last version
	answer   func() kmsg.Response
	asked    []kmsg.Request
}

// serve answers until the pipe is closed.
func (b *broker) serve(conn net.Conn) {
	for {
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		text := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(conn, text); err != nil {
			return
		}
		key, version := int16(binary.BigEndian.Uint16(text)), int16(binary.BigEndian.Uint16(text[2:]))
		req := kmsg.RequestForKey(key)
		req.SetVersion(version)
		clientID := int(binary.BigEndian.Uint16(text[8:]))
		rest := text[10+clientID:]
		if req.IsFlexible() {
			rest = rest[1:] // no tags
		}
		if err := req.ReadFrom(rest); err != nil {
			panic(err)
		}
		b.asked = append(b.asked, req)
		var answer kmsg.Response
		head := text[4:8:8] // the request's number
		if key == int16(protocol.ApiVersions) {
			of := kmsg.NewPtrApiVersionsResponse()
			for _, v := range b.versions {
				k := kmsg.NewApiVersionsResponseApiKey()
				k.ApiKey, k.MinVersion, k.MaxVersion = v[0], v[1], v[2]
				of.ApiKeys = append(of.ApiKeys, k)
			}
			answer = of
		} else {
			answer = b.answer()
			answer.SetVersion(version)
			if answer.IsFlexible() {
				head = append(head, 0)
			}
		}
		body := answer.AppendTo(head)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil {
			return
		}
	}
}

// open returns a connection to the broker, which remembers what the broker speaks if dialled is set.
func (b *broker) open(t *testing.T, dialled bool) *protocol.Conn {
	t.Helper()
	here, there := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.serve(there)
	}()
	t.Cleanup(func() {
		_ = here.Close()
		<-done
	})
	if dialled {
		here = &connection{Conn: here, local: &address{Addr: here.LocalAddr()}}
	}
	return protocol.NewConn(here, "me")
}

func offsets() kmsg.Response {
	text := "by hand"
	p := kmsg.NewOffsetFetchResponseTopicPartition()
	p.Partition, p.Offset, p.Metadata = 300, 1<<40, &text
	p.UnknownTags.Set(3, []byte("later"))
	res := kmsg.NewPtrOffsetFetchResponse()
	res.Topics = []kmsg.OffsetFetchResponseTopic{{Topic: "a", Partitions: []kmsg.OffsetFetchResponseTopicPartition{p}}}
	return res
}

func question() *Request {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = "g", true
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "a", Partitions: []int32{0, 300}}}
	return &Request{Request: req, ClientID: "me", Least: 6, Most: 7}
}

// A request goes out in the newest version that makes sense, and a connection asks for its broker's versions once.
func TestRequestsOnTheWire(t *testing.T) {
	key := int16(kmsg.OffsetFetch)
	for name, c := range map[string]struct {
		spoken  [][3]int16
		dialled bool
		version int16 // -1: not asked
		asked   int
	}{
		"newer":                  {[][3]int16{{1, 4, 17}, {key, 1, 9}}, true, 7, 3},
		"older":                  {[][3]int16{{key, 0, 6}}, true, 6, 3},
		"too old":                {[][3]int16{{key, 0, 5}}, true, -1, 1},
		"too new":                {[][3]int16{{key, 8, 10}}, true, -1, 1},
		"unknown":                {[][3]int16{{1, 4, 17}}, true, -1, 1},
		"a connection of others": {[][3]int16{{key, 1, 9}}, false, 7, 4},
	} {
		b := &broker{versions: c.spoken, answer: offsets}
		conn := b.open(t, c.dialled)
		for range 2 {
			m, err := conn.RoundTrip(question())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, _ := m.(*Answer).Response.(*kmsg.OffsetFetchResponse)
			if c.version < 0 {
				if got != nil {
					t.Errorf("%s: answered %+v", name, got)
				}
				continue
			}
			if got == nil || len(got.Topics) != 1 || got.Topics[0].Partitions[0].Offset != 1<<40 ||
				*got.Topics[0].Partitions[0].Metadata != "by hand" {
				t.Errorf("%s: answered %+v", name, got)
			}
			sent, _ := b.asked[len(b.asked)-1].(*kmsg.OffsetFetchRequest)
			if sent == nil || sent.Version != c.version || sent.Group != "g" || sent.RequireStable != (c.version == 7) ||
				!slices.Equal(sent.Topics[0].Partitions, []int32{0, 300}) {
				t.Errorf("%s: asked %+v", name, sent)
			}
		}
		if len(b.asked) != c.asked {
			t.Errorf("%s: %d requests, want %d", name, len(b.asked), c.asked)
		}
	}
}

// spoken is a connection whose other end has said everything before it is asked.
type spoken struct{ io.Reader }

func (spoken) Write(p []byte) (int, error) { return len(p), nil }

// An answer that is cut off, of another request, or longer than what comes is an error, and takes no memory for what it
// only claims.
func TestAnswersThatAreNoneAreErrors(t *testing.T) {
	res := offsets()
	res.SetVersion(7)
	body := res.AppendTo([]byte{0, 0, 0, 1, 0})
	whole := append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	req := question()
	req.SetVersion(7)
	if _, err := roundTrip(spoken{bytes.NewReader(whole)}, "me", req.Request); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if m, err := roundTrip(spoken{bytes.NewReader(whole[:n])}, "me", req.Request); err == nil {
			t.Errorf("%d of %d bytes give %+v", n, len(whole), m)
		}
	}
	tagged, other := slices.Clone(whole), slices.Clone(whole)
	tagged[8], other[7] = 1, 2
	for name, text := range map[string][]byte{"tags": tagged, "another request": other,
		"no Kafka":          []byte("HTTP/1.1 400 Bad Request"),
		"a size below zero": {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1}} {
		if m, err := roundTrip(spoken{bytes.NewReader(text)}, "me", req.Request); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	claim := append([]byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1}, make([]byte, 100)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := roundTrip(spoken{bytes.NewReader(claim)}, "me", req.Request); err == nil {
		t.Error("an answer of 2 GiB that was cut off is no error")
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 16<<20 {
		t.Errorf("%d MiB were allocated", (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}
