package layout

import (
	"os/exec"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// parquet is large and slow to build.
const parquet = "github.com/parquet-go/parquet-go"

// TestBinariesOfTheStream asks the go command for all packages of a binary, libraries of libraries included.
func TestBinariesOfTheStream(t *testing.T) {
	with := map[string]map[string]bool{}
	for _, binary := range []string{"consumer", "demo", "rivulet", "trainer"} {
		with[binary] = dependencies(t, binary)
	}
	if with["consumer"][parquet] {
		t.Errorf("cmd/consumer is built with %s, which it never uses", parquet)
	}
	if !with["trainer"][parquet] {
		t.Errorf("cmd/trainer is built without %s: either it lost a command, or this test would find nothing", parquet)
	}
	for _, part := range []string{parquet, "github.com/bufbuild/protocompile", "github.com/twmb/avro",
		"golang.org/x/oauth2", "github.com/prometheus/client_golang/prometheus", "github.com/minio/minio-go/v7/pkg/signer"} {
		if with["demo"][part] {
			t.Errorf("cmd/demo is built with %s, which it never uses", part)
		}
		for _, binary := range []string{"consumer", "rivulet", "trainer"} {
			if part != parquet && !with[binary][part] {
				t.Errorf("cmd/%s is built without %s: it has lost a part that registers itself", binary, part)
			}
		}
	}
}

func dependencies(t *testing.T, binary string) map[string]bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "rivulet/cmd/"+binary).Output()
	expect.OK(t, err)
	deps := map[string]bool{}
	for _, name := range strings.Fields(string(out)) {
		deps[name] = true
	}
	return deps
}
