package main

import (
	"net"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// Where one of its addresses is taken devstack names all that are, and starts nothing.
func TestDevstackWhoseAddressesAreTaken(t *testing.T) {
	listen := func() net.Listener {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		expect.OK(t, err)
		return l
	}
	taken, unused := listen(), listen()
	defer taken.Close()
	address, other := taken.Addr().String(), unused.Addr().String()
	expect.OK(t, unused.Close())
	for line, want := range map[string][]string{
		"--kafka " + address + " --redis " + other:   {"--kafka: " + address + " is taken"},
		"--kafka " + other + " --redis " + address:   {"--redis: " + address + " is taken"},
		"--kafka " + address + " --redis " + address: {"--kafka: " + address + " is taken", "--redis: " + address + " is taken"},
		"--kafka nowhere --redis " + other:           {"--kafka: ", "nowhere"},
	} {
		out, err := harness.Execute(root(), append([]string{"devstack"}, strings.Fields(line)...)...)
		if err == nil {
			t.Fatalf("%s: it started", line)
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q", line, err, part)
			}
		}
		if strings.Contains(out, "embedded") {
			t.Errorf("%s: something was started: %s", line, out)
		}
	}
}
