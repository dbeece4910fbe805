package mapping

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/test/expect"
)

// A host that a node leaves out is the one that was asked; "?" is the node's IP address, where the answer has it.
func TestHostsThatNodesLeaveOut(t *testing.T) {
	for name, c := range map[string]struct {
		node []any
		want string
	}{
		"told":                 {[]any{"10.0.0.7", int64(7001), "id"}, "10.0.0.7:7001"},
		"null":                 {[]any{nil, int64(7001), "id", []any{"ip", "10.0.0.7"}}, "gate.example:7001"},
		"empty":                {[]any{"", int64(7001)}, "gate.example:7001"},
		"?":                    {[]any{"?", int64(7001), "id", []any{}}, "gate.example:7001"},
		"?, of a known IP":     {[]any{"?", int64(7001), "id", []any{"ip", "10.0.0.7"}}, "10.0.0.7:7001"},
		"?, of an IP as a map": {[]any{"?", int64(7001), "id", map[any]any{"ip": "10.0.0.7"}}, "10.0.0.7:7001"},
		"IPv6":                 {[]any{"fd00::7", int64(7001), "id"}, "[fd00::7]:7001"},
		"a port as text":       {[]any{"", "7001"}, "gate.example:7001"},
	} {
		got, err := readSlots([]any{[]any{int64(0), int64(16383), c.node}}, "gate.example")
		if err != nil || len(got) != 1 || got[0].End != 16383 || got[0].Nodes[0].Addr != c.want {
			t.Errorf("%s: %+v, %v, want %s", name, got, err, c.want)
		}
	}
	for _, bad := range [][]any{{"x"}, {[]any{int64(1)}}, {[]any{"a", int64(1)}}, {[]any{int64(0), int64(1), "n"}},
		{[]any{int64(0), int64(1), []any{"h"}}}} {
		expect.Error(t, expect.ErrorOf(readSlots(bad, "gate.example")), "redis: a", "%v", bad)
	}
}

// A redirection without a host leads to the host that told the slots, and not to this machine.
func TestRedirectionsWithoutAHost(t *testing.T) {
	e := &endpoints{asked: "gate.example"}
	for addr, want := range map[string]string{":7001": "gate.example:7001", "?:7001": "gate.example:7001",
		"10.0.0.7:7001": "10.0.0.7:7001", "[]:7001": "gate.example:7001"} {
		client := e.newClient(&redis.Options{Addr: addr})
		expect.Same(t, want, client.Options().Addr, "%s", addr)
		expect.OK(t, client.Close())
	}
}
