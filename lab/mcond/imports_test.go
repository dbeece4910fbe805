package mcond

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// The learned recipe calls no solver: from this module it imports T, the model that it matches, the features and the
// optimiser.
func TestImportsNothingOfTheSolver(t *testing.T) {
	allowed := map[string]bool{"rivulet/internal/durable": true, "rivulet/graph": true, "rivulet/graph/gemm": true,
		"rivulet/infer": true, "rivulet/infer/attach": true, "rivulet/infer/preprocess": true,
		"rivulet/test/expect": true, "rivulet/trainer/descent": true, "rivulet/trainer/features": true}
	here := os.DirFS(".")
	files, err := fs.Glob(here, "*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, name := range files {
		source, err := fs.ReadFile(here, name)
		expect.OK(t, err)
		parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		expect.OK(t, err)
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			expect.OK(t, err)
			if strings.HasPrefix(path, "rivulet/") && !allowed[path] {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
