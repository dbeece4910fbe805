package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// pathPackages are the packages on the way of a record.
var pathPackages = []string{"consumer", "consumer/answer", "consumer/edges", "consumer/forget", "consumer/schemas",
	"consumer/limits", "consumer/measure",
	"consumer/window", "producer", "kafka",
	"kafka/balance", "kafka/fetch", "kafka/group",
	"kafka/retry", "kafka/txn", "kafka/wire"}

// oneScreen lists the functions that a reader sees whole, and lines how many a screen has.
var oneScreen = map[string]bool{"consumer.Consumer.serve": true, "consumer.Pipeline.Process": true}

const lines = 60

// given are the functions that may be handed down: a [kafka.Reader] passes records to its caller.
var given = map[string]bool{"kafka/reader.go take": true, "kafka/reader.go started": true}

// source is a file of a package on the path, that is not a test.
type source struct {
	folder, name string
	files        *token.FileSet
	*ast.File
}

// pathSources reads the files of the path.
func pathSources(t *testing.T) (all []source) {
	t.Helper()
	for _, folder := range pathPackages {
		names, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.go"))
		expect.OK(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			expect.OK(t, err)
			all = append(all, source{folder, folder + "/" + filepath.Base(name), files, file})
		}
	}
	return all
}

// TestNoFunctionsAreHandedDownThePath finds fields and parameters that are functions, function literals included: a
// reader of the path sees which functions are called.
func TestNoFunctionsAreHandedDownThePath(t *testing.T) {
	sources := pathSources(t)
	named := map[string]bool{"context.CancelFunc": true, "context.CancelCauseFunc": true}
	for _, s := range sources {
		for name := range functionTypes(s.File) {
			named[name], named[s.Name.Name+"."+name] = true, true
		}
	}
	used := map[string]bool{}
	for _, s := range sources {
		for _, f := range functionFields(s.File, named) {
			key := s.name + " " + nameOf(f)
			if used[key] = true; !given[key] {
				t.Errorf("%s: the field or parameter %s is a function", s.files.Position(f.Pos()), nameOf(f))
			}
		}
	}
	for key := range given {
		if !used[key] {
			t.Errorf("%s is no function any more", key)
		}
	}
}

func nameOf(f *ast.Field) string {
	if len(f.Names) == 0 {
		return "without a name"
	}
	return f.Names[0].Name
}

// functionTypes returns the names of types that are functions.
func functionTypes(file ast.Node) map[string]bool {
	found := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, is := n.(*ast.TypeSpec); is {
			if _, function := spec.Type.(*ast.FuncType); function {
				found[spec.Name.Name] = true
			}
		}
		return true
	})
	return found
}

// functionFields returns the struct fields and the parameters of a file that are functions: by themselves, of a named
// type, or a slice of them.
func functionFields(file ast.Node, named map[string]bool) (found []*ast.Field) {
	is := func(e ast.Expr) bool {
		for {
			switch t := e.(type) {
			case *ast.FuncType:
				return true
			case *ast.ArrayType:
				e = t.Elt
			case *ast.Ellipsis:
				e = t.Elt
			case *ast.MapType:
				e = t.Value
			case *ast.Ident:
				return named[t.Name]
			case *ast.SelectorExpr:
				return named[fmt.Sprint(t.X)+"."+t.Sel.Name]
			default:
				return false
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		var fields *ast.FieldList
		switch n := n.(type) {
		case *ast.StructType:
			fields = n.Fields
		case *ast.FuncType:
			fields = n.Params
		default:
			return true
		}
		for _, f := range fields.List {
			if is(f.Type) {
				found = append(found, f)
			}
		}
		return true
	})
	return found
}

func TestFunctionFieldsAreFound(t *testing.T) {
	const text = `package p
type s struct { f func(); n int; many []func() }
type done func()
func (s) m(g func() error, n int) func() { return func() {} }
func stop(c context.CancelFunc, d done) {}
var v = func(func(int)) {}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	expect.OK(t, err)
	named := functionTypes(file)
	named["context.CancelFunc"] = true
	var got []string
	for _, f := range functionFields(file, named) {
		got = append(got, nameOf(f))
	}
	if want := []string{"f", "many", "g", "c", "d", "without a name"}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// TestOneScreen holds the two functions that tell the whole story to a screen's length.
func TestOneScreen(t *testing.T) {
	found := 0
	for _, s := range pathSources(t) {
		for _, d := range s.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv == nil {
				continue
			}
			receiver := f.Recv.List[0].Type
			if pointer, is := receiver.(*ast.StarExpr); is {
				receiver = pointer.X
			}
			if name := s.folder + "." + fmt.Sprint(receiver) + "." + f.Name.Name; oneScreen[name] {
				found++
				if n := s.files.Position(f.End()).Line - s.files.Position(f.Pos()).Line + 1; n > lines {
					t.Errorf("%s has %d lines, want at most %d", name, n, lines)
				}
			}
		}
	}
	if found != len(oneScreen) {
		t.Errorf("%d of %d functions are there", found, len(oneScreen))
	}
}

// TestWorkaroundsAreTested wants every test that package kafka's doc names to be there.
func TestWorkaroundsAreTested(t *testing.T) {
	page, err := os.ReadFile("../../kafka/doc.go")
	expect.OK(t, err)
	folders := map[string]string{"consumer": "consumer", "check": "internal/check", "app": "internal/app", "": "kafka",
		"wire": "kafka/wire"}
	found := 0
	for _, word := range strings.FieldsFunc(string(page), func(r rune) bool { return strings.ContainsRune(" ,\n", r) }) {
		folder, name, qualified := strings.Cut(strings.TrimSuffix(word, "."), ".")
		if !qualified {
			folder, name = "", folder
		}
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Benchmark") {
			continue
		}
		found++
		if !declares(t, folders[folder], name) {
			t.Errorf("%s is not there", word)
		}
	}
	if found < 15 {
		t.Errorf("the doc names %d tests", found)
	}
}

// declares reports whether a test of a folder has a name.
func declares(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*_test.go"))
	expect.OK(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		expect.OK(t, err)
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
