package layout

import (
	"os/exec"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// parquet is read by cmd/rivulet, whose demo and replay take the tables that the trainer takes.
const parquet = "github.com/parquet-go/parquet-go"

// Packages that the binaries of the stream must not contain: they would be larger and slower to build, and never use
// them.
var notInStream = []string{parquet, "gonum.org/v1/plot", "golang.org/x/image/font", "html/template"}

// TestBinariesOfTheStream asks the go command for all packages of a binary, libraries of libraries included.
func TestBinariesOfTheStream(t *testing.T) {
	for _, name := range []string{"consumer", "rivulet"} {
		for _, library := range notInStream {
			if dependencies(t, name)[library] && !(name == "rivulet" && library == parquet) {
				t.Errorf("cmd/%s is built with %s", name, library)
			}
		}
	}
	// The worker is sent to every machine of a cluster.
	for _, library := range append(notInStream, "net/http", "connectrpc.com/connect", "google.golang.org/protobuf/proto",
		"github.com/spf13/cobra") {
		if dependencies(t, "worker")[library] {
			t.Errorf("cmd/worker is built with %s", library)
		}
	}
	trainer := dependencies(t, "trainer")
	for _, library := range notInStream {
		if !trainer[library] {
			t.Errorf("cmd/trainer is built without %s: either it lost a command, or this test would find nothing", library)
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
