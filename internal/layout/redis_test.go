package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// clientsOfRedis are the types through which the compiler reaches the structs of go-redis' clients.
var clientsOfRedis = regexp.MustCompile(
	`\bredis\.(UniversalClient|UniversalOptions|Client|ClusterClient|Options|ParseURL|New\w*Client)\b`)

// A package that names a client's type compiles its thousand methods again, 1.7 CPU seconds of a cold build: packages
// name mapping.Client, except the one that makes clients and the one that reads their URL.
func TestFewPackagesNameTheClientsOfRedis(t *testing.T) {
	allowed := []string{"rivulet/mapping", "rivulet/config"}
	found := map[string]bool{}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}} {{.Dir}} {{join .GoFiles \" \"}}",
		"rivulet/...").Output()
	expect.OK(t, err)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pkg, dir := fields[0], fields[1]
		// Those of tests are in no program.
		if strings.HasPrefix(pkg, "rivulet/test/harness") || strings.HasPrefix(pkg, "rivulet/test/chaos") {
			continue
		}
		for _, name := range fields[2:] {
			text, err := os.ReadFile(filepath.Join(dir, name))
			expect.OK(t, err)
			for line := range strings.Lines(string(text)) {
				if code, _, _ := strings.Cut(line, "//"); clientsOfRedis.MatchString(code) {
					found[pkg] = true
					if !slices.Contains(allowed, pkg) {
						t.Errorf("%s/%s: %s", pkg, name, strings.TrimSpace(line))
					}
				}
			}
		}
	}
	if len(found) < len(allowed) {
		t.Errorf("only %v name them: the test finds nothing, or allows too much", found)
	}
}
