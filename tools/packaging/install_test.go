package packaging

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A release, as `make release` makes it in a directory of which RIVULET_TEST_DIST is the path, with the version of
// RIVULET_TEST_VERSION. Each archive and each package has the programs, their manuals and completions, the licence and
// the notices of third parties; there are checksums, and a bill of materials of each program. The programs of this
// machine's archive and of its Debian package, which dpkg installs, and the Python package, which pip installs, run and
// say the version.
func TestReleaseIsInstalled(t *testing.T) {
	dist := os.Getenv("RIVULET_TEST_DIST")
	if dist == "" {
		t.Skip("RIVULET_TEST_DIST is not set: make release sets it")
	}
	requireWheel(t, dist)
	archives, err := filepath.Glob(filepath.Join(dist, "rivulet_*.tar.gz"))
	if err != nil || len(archives) != 4 {
		t.Fatalf("archives are %q, want those of linux and darwin, amd64 and arm64 (%v)", archives, err)
	}
	for _, archive := range archives {
		root := t.TempDir()
		unpack(t, archive, root)
		dir := filepath.Join(root, strings.TrimSuffix(filepath.Base(archive), ".tar.gz"))
		requireFiles(t, dir, "LICENSE", "README.md", "CHANGELOG.md", "THIRD_PARTY_NOTICES", "deploy/consumer.yaml",
			"deploy/alerts.yaml", "deploy/redis.acl")
		for _, program := range programs {
			requireFiles(t, dir, program, "man/"+program+".1.gz", "completions/"+program+".bash",
				"completions/"+program+".zsh", "completions/"+program+".fish")
			if strings.HasSuffix(dir, "_"+runtime.GOOS+"_"+runtime.GOARCH) {
				requireRuns(t, filepath.Join(dir, program))
			}
		}
	}
	for _, kind := range []string{"deb", "rpm"} {
		packages, err := filepath.Glob(filepath.Join(dist, "rivulet*."+kind))
		if err != nil || len(packages) != 2 {
			t.Errorf("packages are %q, want those of amd64 and arm64 (%v)", packages, err)
		}
		for _, p := range packages {
			if kind == "deb" {
				requireDebian(t, p)
			}
		}
	}
	bills, err := filepath.Glob(filepath.Join(dist, "*.sbom.json"))
	if err != nil || len(bills) != 12 {
		t.Errorf("bills of materials are %q, want one of each program (%v)", bills, err)
	}
	for _, bill := range bills {
		requireContents(t, bill)
	}
	requireChecksums(t, dist, len(archives)+4+len(bills)+2) // packages; the wheel and the chart
}

// requireChecksums fails unless checksums.txt has the SHA-256 of so many files.
func requireChecksums(t *testing.T, dist string, files int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != files {
		t.Errorf("checksums.txt has %d lines, want %d", len(lines), files)
	}
	for _, line := range lines {
		want, name, _ := strings.Cut(line, "  ")
		content, err := os.ReadFile(filepath.Join(dist, name))
		if is := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || is != want {
			t.Errorf("%s has the SHA-256 %s, checksums.txt says %s (%v)", name, is, want, err)
		}
	}
}

// programs are the names under which they are installed.
var programs = []string{"rivulet", "rivulet-consumer", "rivulet-trainer"}

// requireDebian installs a Debian package below a directory, where dpkg is, and looks at its files.
func requireDebian(t *testing.T, deb string) {
	t.Helper()
	if _, err := exec.LookPath("dpkg"); err != nil || os.Getuid() != 0 {
		t.Log("dpkg is not installed, or does not run as root: Debian packages are not looked at")
		return
	}
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "var/lib/dpkg/info"), 0o755),
		os.MkdirAll(filepath.Join(root, "var/lib/dpkg/updates"), 0o755),
		os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "dpkg", "--root="+root, "--force-architecture", "--install",
		deb).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	requireFiles(t, root, "etc/rivulet/consumer.yaml", "usr/share/doc/rivulet/copyright",
		"usr/share/doc/rivulet/THIRD_PARTY_NOTICES", "usr/share/doc/rivulet/alerts.yaml")
	for _, program := range programs {
		requireFiles(t, root, "usr/bin/"+program, "usr/share/man/man1/"+program+".1.gz",
			"usr/share/bash-completion/completions/"+program, "usr/share/zsh/site-functions/_"+program,
			"usr/share/fish/vendor_completions.d/"+program+".fish")
		if runtime.GOOS == "linux" && strings.HasSuffix(deb, "_"+runtime.GOARCH+".deb") {
			requireRuns(t, filepath.Join(root, "usr/bin", program))
		}
	}
}

// requireContents fails unless a bill of materials names its program, with the snapshot's version, and the modules that
// are linked into it.
func requireContents(t *testing.T, bill string) {
	t.Helper()
	type component struct{ Name, Version string }
	var of struct {
		BOMFormat  string
		Metadata   struct{ Component component }
		Components []component
	}
	text, err := os.ReadFile(bill)
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	if err != nil {
		t.Fatal(err)
	}
	if own := of.Metadata.Component; of.BOMFormat != "CycloneDX" || own.Name != "rivulet" ||
		!version.MatchString(own.Version) {
		t.Errorf("%s is a %s of %+v", bill, of.BOMFormat, own)
	}
	for _, module := range []string{"github.com/spf13/cobra", "github.com/redis/go-redis/v9", "std"} {
		if !slices.ContainsFunc(of.Components, func(c component) bool { return c.Name == module && c.Version != "" }) {
			t.Errorf("%s does not name %s", bill, module)
		}
	}
}

// requireFiles fails unless a directory has files, none of them empty.
func requireFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %s is missing or empty (%v)", filepath.Base(dir), name, err)
		}
	}
}

var version = regexp.MustCompile("\\b" + regexp.QuoteMeta(os.Getenv("RIVULET_TEST_VERSION")) + "\\b")

// requireWheel installs the Python package into an environment of its own, and asks it for its version.
func requireWheel(t *testing.T, dist string) {
	t.Helper()
	venv := t.TempDir()
	wheels, err := filepath.Glob(filepath.Join(dist, "rivulet_mcond-*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("wheels are %q, want one (%v)", wheels, err)
	}
	for _, command := range [][]string{{"python3", "-m", "venv", venv},
		{filepath.Join(venv, "bin/pip"), "install", "-q", wheels[0]}} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v %s", command, err, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(venv, "bin/python"), "-c",
		"import rivulet_mcond, importlib.metadata as m; print(rivulet_mcond.Arrival('n1', [1]).id, m.version('rivulet-mcond'))",
	).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "n1 "+os.Getenv("RIVULET_TEST_VERSION") {
		t.Errorf("the installed Python package says %s (%v)", out, err)
	}
}

// requireRuns fails unless a program says the snapshot's version, and its manual knows its name.
func requireRuns(t *testing.T, program string) {
	t.Helper()
	for args, want := range map[string]*regexp.Regexp{"--version": version,
		"--help": regexp.MustCompile(regexp.QuoteMeta(filepath.Base(program)) + " ")} {
		out, err := exec.CommandContext(t.Context(), program, args).CombinedOutput()
		if err != nil || !want.Match(out) {
			t.Errorf("%s %s says %s, want %s (%v)", program, args, out, want, err)
		}
	}
}

// unpack writes the files of an archive below a directory.
func unpack(t *testing.T, archive, root string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(packed); ; {
		head, err := files.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		to := filepath.Join(root, path.Clean("/"+head.Name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(files)
		if err == nil {
			err = os.WriteFile(to, text, head.FileInfo().Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
