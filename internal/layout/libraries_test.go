package layout

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// behindOneDoor lists libraries that one package and those below it import, and otherwise these files alone.
var behindOneDoor = map[string]struct {
	door   string
	others []string
}{
	"github.com/segmentio/kafka-go": {"kafka", []string{
		"internal/devstack/kafka_test.go", // kafka-go's own client, against the embedded broker
	}},
}

func TestLibrariesAreBehindOneDoor(t *testing.T) {
	users := map[string]map[string]bool{} // by library: the files that import it
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && file != "." && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(file) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			for library := range behindOneDoor {
				if imported == library || strings.HasPrefix(imported, library+"/") {
					if users[library] == nil {
						users[library] = map[string]bool{}
					}
					users[library][file] = true
				}
			}
		}
		return nil
	})
	expect.OK(t, err)
	for library, rule := range behindOneDoor {
		may := map[string]bool{}
		for _, file := range rule.others {
			if may[file] = true; !users[library][file] {
				t.Errorf("%s does not import %s any more", file, library)
			}
		}
		through := 0
		for file := range users[library] {
			if path.Dir(file) == rule.door || strings.HasPrefix(file, rule.door+"/") {
				through++
			} else if !may[file] {
				t.Errorf("%s imports %s, which is for %s and what is below it", file, library, rule.door)
			}
		}
		if through == 0 {
			t.Errorf("no file of %s imports %s: the rule holds nothing", rule.door, library)
		}
	}
}
