package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// recordPath lists the files of a record's path: whoever reads them sees what is called.
var recordPath = map[string][]string{
	"consumer": {"pipeline", "batch", "decode", "lookup", "attach", "degrade", "predictions", "grow", "order", "measure", "record", "contract", "observer"},
	"producer": {"producer", "transactions"},
}

// given are the functions that options of the path may hold: whoever is told of retries, and randomness.
var given = map[string]bool{"OnRetry": true, "Rand": true}

// TestNoFunctionsAreHandedDownThePath finds fields and parameters that are functions, those of function literals included.
func TestNoFunctionsAreHandedDownThePath(t *testing.T) {
	for folder, names := range recordPath {
		for _, name := range names {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join("..", "..", folder, name+".go"), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range functionFields(file) {
				t.Errorf("%s: a field or parameter is a function", files.Position(f.Pos()))
			}
		}
	}
}

// functionFields returns the struct fields and the parameters of a file that are functions.
func functionFields(file ast.Node) (found []*ast.Field) {
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
			if _, is := f.Type.(*ast.FuncType); is && (len(f.Names) == 0 || !given[f.Names[0].Name]) {
				found = append(found, f)
			}
		}
		return true
	})
	return found
}

func TestFunctionFieldsAreFound(t *testing.T) {
	const source = `package p
type s struct { f func(); n int; OnRetry func(error) }
func (s) m(g func() error, n int) func() { return func() {} }
var v = func(func(int)) {}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found := functionFields(file); len(found) != 3 {
		t.Errorf("found %d fields and parameters that are functions, want f, g and one without a name", len(found))
	}
}
