package layout

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rivulet/test/expect"
)

const module = "rivulet"

// only lists what the packages of a pattern may import of this module, in files that are not tests. A pattern is a
// path, or a path and /… for everything at and below it. The first that matches is used.
var only = []struct {
	packages string
	may      []string
}{
	{"graph", []string{"graph/tile"}},
	{"graph/tile", nil},
	{"graph/gemm", []string{"graph", "graph/tile"}},
	{"infer", []string{"graph", "infer/architecture", "infer/attach", "infer/perceptron", "infer/preprocess",
		"infer/propagation", "infer/target", "infer/tensor"}},
	{"infer/architecture", []string{"graph", "infer/tensor"}},
	{"infer/propagation", []string{"graph", "infer/attach"}},
	{"infer/perceptron", []string{"graph", "infer/architecture", "infer/attach", "infer/preprocess"}},
	{"infer/tensor", []string{"graph"}},
	{"infer/attach", []string{"graph"}},
	{"infer/preprocess", []string{"graph"}},
	{"infer/nnls", []string{"graph"}},
	{"infer/retrieval", []string{"graph", "graph/tile"}},
	{"infer/growth", []string{"graph", "infer", "infer/attach", "infer/nnls"}},
	{"infer/explain", []string{"graph", "infer", "infer/architecture", "infer/attach", "infer/perceptron",
		"infer/preprocess", "infer/propagation"}},
	{"infer/version", []string{"graph", "infer/attach", "infer/growth", "infer/retrieval", "infer/target", "schema"}},
	{"artifact/safetensors", []string{"graph"}},
	{"artifact/baseline", nil},
	{"artifact/remote", []string{"artifact", "artifact/signature"}},
	{"artifact/signature", nil},
	{"artifact", []string{"artifact/baseline", "artifact/safetensors", "artifact/signature",
		"graph", "infer", "infer/architecture",
		"infer/growth", "infer/perceptron", "infer/preprocess", "infer/propagation", "infer/target", "schema", "internal/durable"}},
	{"mapping", []string{"graph", "infer/attach", "artifact", "internal/durable",
		"internal/tlsclient", "mapping/offheap", "mapping/rowcache"}},
	{"mapping/offheap", nil},
	{"mapping/rowcache", []string{"internal/hashtable", "infer/attach"}},
	{"mapping/arrivals", []string{"infer/attach", "infer/growth", "mapping", "mapping/rowcache"}},
	{"serving", []string{"graph", "infer", "infer/attach", "infer/explain", "infer/growth", "infer/preprocess",
		"infer/propagation", "infer/retrieval", "infer/target", "infer/version", "artifact", "artifact/signature",
		"mapping", "mapping/arrivals", "serving/keyspace", "serving/script"}},
	{"serving/script", nil},
	{"serving/keyspace", []string{"artifact", "mapping", "mapping/arrivals"}},
	{"internal/stats", nil},
	{"schema", nil},
	{"internal/hashtable", nil},
	{"event", []string{"event/connect", "internal/hashtable", "schema"}},
	{"event/connect", []string{"schema"}},
	{"event/table", nil},
	{"event/fields", []string{"event", "event/connect", "event/table", "schema"}},
	{"event/read", []string{"event", "event/connect", "event/fields", "event/json", "event/protobuf",
		"schema"}},
	{"event/read/readtest", []string{"event", "event/read"}},
	{"event/eventtest", []string{"event"}},
	{"event/avro", []string{"event", "event/connect", "event/fields", "event/read", "event/table", "schema"}},
	{"event/…", []string{"event", "event/connect", "event/fields", "event/table", "schema"}},
	{"test/eventpb", nil},
	{"test/chaos", []string{"artifact", "event", "event/…", "test/chaos/…", "test/harness"}},
	{"test/chaos/ledger", nil},
	{"test/chaos/record", []string{"event", "event/…", "test/chaos/ledger"}},
	{"test/chaos/world", []string{"artifact", "event", "event/…", "test/chaos/record", "test/harness"}},
	{"test/chaos/stream", []string{"event", "event/…", "test/chaos/…", "test/harness"}},
	{"consumer/window", []string{"event", "event/read", "kafka"}},
	{"consumer/commit", nil}, // a value that decides
	{"internal/gather", []string{"kafka/retry"}},
	{"consumer", []string{"consumer/commit", "consumer/window", "event", "internal/gather",
		"event/read", "internal/hashtable", "infer", "infer/attach", "infer/explain", "infer/growth", "infer/retrieval",
		"infer/target", "infer/version", "infer/preprocess", "graph",
		"schema", "kafka",
		"kafka/retry"}},
	{"producer", []string{"event", "event/json", "kafka"}},
	{"dataset", []string{"graph", "infer/target", "infer/attach", "infer/preprocess", "schema", "dataset/file",
		"dataset/csv", "dataset/digest", "dataset/graphsaint", "dataset/numpy",
		"dataset/table",
		"internal/durable"}},
	{"dataset/digest", []string{"graph", "schema"}},
	{"dataset/file", nil},
	{"dataset/csv", []string{"dataset/literal", "dataset/table"}},
	{"dataset/literal", nil},
	{"dataset/graphsaint", []string{"dataset/digest", "graph", "infer/target", "schema"}},
	{"dataset/numpy", []string{"graph", "dataset/file"}},
	{"infer/target", []string{"graph"}},
	{"dataset/table", []string{"schema", "infer/target", "dataset/file", "dataset/literal", "dataset/numpy",
		"internal/spelling"}},
	{"dataset/generate", []string{"dataset", "graph"}},
	{"dataset/leaks", []string{"dataset", "schema"}},
	{"dataset/columnar", []string{"dataset/table"}},
	{"dataset/parquet", []string{"dataset", "dataset/columnar", "dataset/table", "infer/target", "schema"}},
	{"test/reference/convert", []string{"graph", "test/reference"}},
	{"lab/mcond", []string{"internal/durable", "graph", "graph/gemm", "infer", "infer/attach", "infer/preprocess",
		"trainer/descent",
		"trainer/features"}},
	{"lab/…", []string{"artifact", "dataset", "graph", "infer", "infer/attach", "infer/growth", "infer/propagation",
		"infer/target", "lab/mcond", "lab/methods", "schema", "trainer", "trainer/condense", "trainer/eval", "trainer/features"}},
	{"trainer/merge", []string{"dataset", "dataset/graphsaint", "event", "graph", "infer/target", "schema"}},
	{"trainer/lake", []string{"artifact", "dataset", "dataset/columnar", "dataset/table", "graph", "infer", "infer/…",
		"internal/durable"}},
	{"trainer/…", []string{"trainer/…", "artifact", "artifact/baseline", "artifact/safetensors", "dataset",
		"dataset/table", "infer/…", "graph",
		"graph/gemm", "schema",
		"internal/durable", "internal/stats"}},
	{"config", []string{"internal/help", "internal/spelling"}},
	{"internal/help", nil},
	{"kafka", []string{"kafka/fetch", "kafka/group", "kafka/retry", "kafka/txn", "kafka/wire", "internal/tlsclient"}},
	{"kafka/group", []string{"kafka/wire"}},
	{"kafka/fetch", []string{"kafka/retry", "kafka/wire"}},
	{"kafka/txn", []string{"kafka/retry", "kafka/wire"}},
	{"kafka/wire", []string{"kafka/retry", "internal/spelling", "internal/tlsclient"}},
	{"kafka/retry", nil},
	{"internal/monitor", []string{"artifact/baseline", "consumer", "event", "mapping", "mapping/arrivals"}},
	{"internal/logs", []string{"consumer", "consumer/window", "event", "event/read", "internal/monitor", "kafka"}},
	{"internal/observe", []string{"artifact", "artifact/baseline", "consumer", "consumer/window", "event",
		"event/read", "infer/target", "internal/build", "internal/httpd", "internal/monitor", "kafka", "mapping",
		"mapping/arrivals"}},
	{"internal/registry", []string{"event", "event/avro", "event/read", "event/json", "event/protobuf",
		"internal/tlsclient"}},
	{"internal/featurestore", []string{"event", "event/fields", "event/read", "mapping", "schema"}},
	{"internal/refresh", []string{"artifact", "consumer", "dataset", "event", "internal/gather",
		"event/read", "internal/durable",
		"kafka",
		"kafka/retry", "mapping",
		"graph", "infer/target", "schema", "serving", "trainer", "trainer/eval", "trainer/features", "trainer/links",
		"trainer/merge"}},
	{"internal/preflight", []string{"infer/attach", "infer/target", "artifact", "consumer", "dataset", "event",
		"event/avro", "event/read",
		"event/json",
		"event/protobuf", "graph", "internal/replay", "kafka",
		"mapping", "schema", "serving", "trainer", "trainer/features", "trainer/sample"}},
	{"internal/replay", []string{"dataset", "event", "event/json", "graph", "infer/target", "internal/gather", "schema", "kafka",
		"kafka/retry"}},
	{"test/harness", []string{"event"}}, // tests of all packages but event use it
	{"internal/build", nil},
	{"internal/spelling", nil},
	{"internal/cli", []string{"internal/build", "internal/spelling"}},
	{"internal/cli/dataflag", []string{"internal/help", "dataset", "dataset/generate", "dataset/table"}},
	{"internal/check", []string{"kafka"}},
	{"internal/page", []string{"artifact", "consumer", "event", "event/read", "event/json", "infer", "infer/attach",
		"infer/explain", "infer/target",
		"internal/explanation",
		"internal/httpd", "internal/quantile", "kafka", "kafka/retry", "serving"}},
	{"internal/explanation", []string{"consumer", "infer", "infer/attach", "infer/explain"}},
	{"internal/quantile", nil},
	{"internal/traces", []string{"consumer", "event"}},
	{".", []string{"config", "run", "run/parts", "internal/build", "internal/traces"}},
	{"internal/httpd", nil},
	{"internal/devstack", nil},
	{"internal/durable", nil},
	{"test/reference", nil}, // an oracle must not share code with the code that it checks
	{"internal/layout", nil},
	{"test/markdown", nil},
}

// users lists who may import the packages of a pattern, in files that are not tests.
var users = []struct {
	packages string
	by       []string
}{
	{"config", []string{".", "cmd/…", "run/…", "internal/demo", "internal/bench"}},
	{"run", []string{".", "cmd/…", "internal/demo", "internal/bench"}},
	{"run/connect", []string{"cmd/…", "run", "run/connect/…", "internal/demo", "internal/bench"}},
	{"run/connect/…", []string{"cmd/…", "run/…", "internal/demo", "internal/bench"}}, // logins and registries register themselves
	{"run/parts", []string{".", "cmd/consumer", "cmd/trainer", "cmd/rivulet"}},
	{".", []string{"cmd/consumer"}},     // it is for programs of others
	{"kafka/wire", []string{"kafka/…"}}, // others see its records by kafka's names
	{"kafka/fetch", []string{"kafka"}},
	{"kafka/group", []string{"kafka"}},
	{"kafka/marks", []string{"kafka"}},
	{"kafka/txn", []string{"kafka"}},
	{"internal/registry", []string{"run/…"}}, // a registry's client is the wiring's; the path sees an interface
	{"internal/featurestore", []string{"run/connect", "cmd/rivulet"}},
	{"internal/devstack", []string{"cmd/…", "internal/demo"}},
	{"internal/cli/…", []string{"cmd/…", "internal/demo", "internal/bench"}},
	{"internal/refresh", []string{"cmd/…"}},
	{"internal/replay", []string{"cmd/…", "internal/demo", "internal/bench", "internal/preflight"}},
	{"internal/preflight", []string{"cmd/trainer"}},
	{"internal/page", []string{"run"}},
	{"internal/bench", []string{"cmd/rivulet"}},
	{"internal/demo", []string{"cmd/demo"}},
	// each brings a large library
	{"dataset/parquet", []string{"cmd/trainer", "cmd/rivulet"}},
	{"artifact/remote/s3", []string{"run/parts", "run/connect/login"}},
	{"internal/observe", []string{"run/parts"}},
	{"trainer/merge", []string{"cmd/trainer", "internal/refresh"}},
	{"lab/…", []string{"cmd/trainer", "lab/…"}}, // a laboratory: it reads the trainer, and no other room knows it
	{"cmd/…", []string{"cmd/trainer"}},          // a command's own packages: Go lets nobody import a main
}

// testOnly are packages that only tests, and each other, import: test/chaos is a test as a program. So are
// packages whose names end in test.
var testOnly = []string{"test/reference", "test/reference/convert", "test/eventpb", "test/expect", "test/prototest",
	"test/harness", "test/markdown", "test/chaos", "test/chaos/ledger", "test/chaos/record", "test/chaos/stream", "test/chaos/world", "graph/gemm/peak"}

// never lists what a package must not reach, not even through others: its binary would carry it.
var never = []struct {
	packages string
	reach    []string
}{
	{"cmd/consumer", []string{"dataset/…", "trainer/…", "internal/devstack", "internal/demo", "internal/bench"}},
	// a newcomer builds the demo first, and waits for all that it links
	{"cmd/demo", []string{"internal/traces", "internal/bench", "internal/registry", "event/avro", "dataset/parquet",
		"artifact/remote/s3", "internal/observe", "run/parts", "run/connect/login", "run/connect/confluent"}},
	{"cmd/trainer", []string{"internal/devstack", "internal/demo", "internal/bench"}},
	{"trainer/…", []string{"serving", "mapping/…", "consumer/…", "producer"}},
	{"consumer/…", []string{"serving", "producer", "artifact", "mapping/…"}},
}

// imports lists the packages of this module that a package imports in files that are not tests, without the module's
// name.
type imports map[string]bool

func TestImportDirections(t *testing.T) {
	packages := readModule(t, os.DirFS("../.."))
	for _, name := range []string{"graph", "infer", "artifact", "mapping", "serving", "event", "consumer", "producer",
		"kafka", "dataset", "trainer", "config"} {
		if packages[name] == nil {
			t.Errorf("package %s is not there: the rules about it hold nothing", name)
		}
	}
	for _, violation := range check(packages) {
		t.Error(violation)
	}
}

// The oracle of infer's models stands in test files of its own, which share no code with what they check.
func TestOracleSharesNoCode(t *testing.T) {
	root := os.DirFS("../..")
	files, err := fs.Glob(root, "infer/oracle_*_test.go")
	if err != nil || len(files) < 6 {
		t.Fatalf("files of the oracle are %q (%v)", files, err)
	}
	packages := map[string]imports{}
	for _, file := range files {
		expect.OK(t, readFile(root, file, packages))
	}
	expect.Same(t, imports{"test/reference": true}, packages["infer"], "imports of %q", files)
}

// check returns the violations of the rules, sorted.
func check(packages map[string]imports) []string {
	var found []string
	for name, p := range packages {
		for imported := range p {
			if !allowed(name, imported) {
				found = append(found, fmt.Sprintf("%s imports %s", name, imported))
			}
		}
		for _, rule := range never {
			if !matches(rule.packages, name) {
				continue
			}
			for reached, via := range reach(packages, name) {
				if matchesAny(rule.reach, reached) {
					found = append(found, fmt.Sprintf("%s reaches %s (%s)", name, reached, via))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

func allowed(name, imported string) bool {
	for _, rule := range only {
		if matches(rule.packages, name) {
			if !matchesAny(rule.may, imported) {
				return false
			}
			break
		}
	}
	for _, rule := range users {
		if matches(rule.packages, imported) && !matchesAny(rule.by, name) {
			return false
		}
	}
	return isTestOnly(name) || !isTestOnly(imported)
}

func isTestOnly(name string) bool {
	return slices.Contains(testOnly, name) || strings.HasSuffix(path.Base(name), "test")
}

// reach returns all that a package imports, directly or not, with the way there.
func reach(packages map[string]imports, from string) map[string]string {
	via := map[string]string{}
	var walk func(name, way string)
	walk = func(name, way string) {
		for _, imported := range slices.Sorted(maps.Keys(packages[name])) {
			if _, seen := via[imported]; !seen {
				via[imported] = way + " -> " + imported
				walk(imported, via[imported])
			}
		}
	}
	walk(from, from)
	return via
}

func matches(pattern, name string) bool {
	if top, all := strings.CutSuffix(pattern, "/…"); all {
		return name == top || strings.HasPrefix(name, top+"/")
	}
	return name == pattern
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// readModule reads the imports of all Go files below root that are not tests, whatever their build constraints.
func readModule(t *testing.T, root fs.FS) map[string]imports {
	t.Helper()
	packages := map[string]imports{}
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != "." && (name == "testdata" || strings.HasPrefix(name, ".") ||
			strings.HasPrefix(name, "_")) {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		return readFile(root, file, packages)
	})
	expect.OK(t, err)
	return packages
}

func readFile(root fs.FS, file string, packages map[string]imports) error {
	source, err := fs.ReadFile(root, file)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		return err
	}
	name := path.Dir(file)
	if packages[name] == nil {
		packages[name] = imports{}
	}
	for _, spec := range parsed.Imports {
		full, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: import %s: %w", file, spec.Path.Value, err)
		}
		if full == module {
			packages[name]["."] = true
		}
		if own, ok := strings.CutPrefix(full, module+"/"); ok {
			packages[name][own] = true
		}
	}
	return nil
}

// The rules find violations.
func TestCheckFinds(t *testing.T) {
	of := func(names ...string) imports {
		p := imports{}
		for _, n := range names {
			p[n] = true
		}
		return p
	}
	got := check(map[string]imports{
		"graph":                 of("event"),
		"infer":                 of("graph", "test/reference"),
		"producer":              of("event", "consumer"),
		"serving":               of("artifact", "config"),
		"artifact":              of("graph", "artifact/artifacttest"),
		"trainer/fit":           of("trainer/features", "serving"),
		"run":                   of("config", "consumer", "dataset"),
		"cmd/consumer":          of("config", "run"),
		"cmd/demo":              of("internal/demo"),
		"internal/demo":         of("internal/devstack", "run"),
		"internal/replay":       of("internal/devstack"),
		"internal/refresh":      of("config", "kafka", "serving"),
		"internal/observe":      of("test/harness"),
		"artifact/artifacttest": of("artifact"),
		"test/reference":        of("graph"),
	})
	want := []string{
		"artifact imports artifact/artifacttest",
		"cmd/consumer reaches dataset (cmd/consumer -> run -> dataset)",
		"graph imports event",
		"infer imports test/reference",
		"internal/observe imports test/harness",
		"internal/refresh imports config",
		"internal/replay imports internal/devstack",
		"producer imports consumer",
		"serving imports config",
		"test/reference imports graph",
		"trainer/fit imports serving",
		"trainer/fit reaches serving (trainer/fit -> serving)",
	}
	expect.Same(t, want, got, "violations")
}
