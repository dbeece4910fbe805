package layout

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"rivulet/test/expect"
)

var update = flag.Bool("update", false, "write testdata/budget.txt and undocumented.txt as small as the code is now")

// No package may be larger than this, whatever testdata/budget.txt says. A room that needs more is divided along a seam
// that a newcomer would look for.
const (
	mostFiles = 25
	mostLines = 3500
)

// Widths in columns, a tab counted as one.
const (
	goColumns       = 120
	markdownColumns = 140
)

// documentedFrom is the number of files from which a package needs a map in its doc.go.
const documentedFrom = 9

const (
	budgetFile       = "testdata/budget.txt"
	undocumentedFile = "testdata/undocumented.txt"
)

// size is how much there is of a package, or of all: production files and their lines, without generated code.
type size struct{ files, lines int }

// A package may not grow beyond its budget, nor may the whole: what one commit adds another has taken away before.
// A commit that needs more raises the number by hand and says why. -update writes what is smaller now.
func TestBudget(t *testing.T) {
	got, want := measure(t), readBudget(t)
	if *update {
		writeBudget(t, want, got)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		limit, listed := want[name]
		if most := (size{mostFiles, mostLines}); !listed {
			limit = most
		} else if name != "total" {
			limit = size{min(limit.files, most.files), min(limit.lines, most.lines)}
		}
		if is := got[name]; is.files > limit.files || is.lines > limit.lines {
			t.Errorf("%s has %d files and %d lines; its budget is %d and %d (%s, and %d files and %d lines at most)", name,
				is.files, is.lines, limit.files, limit.lines, budgetFile, mostFiles, mostLines)
		}
	}
	for name := range want {
		if _, there := got[name]; !there {
			t.Logf("%s of %s is not there any more: -update takes it out", name, budgetFile)
		}
	}
}

// measure returns the size of each package of the module, and of the total.
func measure(t *testing.T) map[string]size {
	t.Helper()
	sizes := map[string]size{}
	eachFile(t, func(file string, text []byte) {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || generated(text) {
			return
		}
		for _, name := range []string{path.Dir(file), "total"} {
			of := sizes[name]
			sizes[name] = size{of.files + 1, of.lines + bytes.Count(text, []byte{'\n'})}
		}
	})
	return sizes
}

// No line is too wide, of tests and manuals neither.
func TestWidths(t *testing.T) {
	eachFile(t, func(file string, text []byte) {
		if wide := wideLines(file, text); len(wide) > 0 {
			t.Errorf("%s has lines of more than %d columns (a manual %d): %d", file, goColumns, markdownColumns, wide)
		}
	})
}

// eachFile visits the Go and Markdown files of the module, and of the modules below it.
func eachFile(t *testing.T, visit func(file string, text []byte)) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != "." && (name == "testdata" || name == "out" || name == "bin" ||
			strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if ext := path.Ext(name); entry.IsDir() || ext != ".go" && ext != ".md" {
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err == nil {
			visit(file, text)
		}
		return err
	})
	expect.OK(t, err)
}

func generated(text []byte) bool {
	head, _, _ := bytes.Cut(text, []byte("\npackage "))
	return bytes.Contains(head, []byte("Code generated ")) && bytes.Contains(head, []byte("DO NOT EDIT."))
}

// wideLines returns the numbers of a file's lines that are too wide. Tables of Markdown cannot be broken, nor can a
// record in JSON or the tags of a struct's field; generated files, the changelog and protocols of measurements are not
// read line by line.
func wideLines(file string, text []byte) (wide []int) {
	columns := goColumns
	if path.Ext(file) == ".md" {
		columns = markdownColumns
	}
	if generated(text) || file == "CHANGELOG.md" || file == "config/REFERENCE.md" ||
		strings.HasPrefix(file, "docs/measurements/") {
		return nil
	}
	for k, line := range bytes.Split(text, []byte("\n")) {
		line = bytes.TrimRight(line, "\r")
		if utf8.RuneCount(line) <= columns {
			continue
		}
		markdown, text := columns == markdownColumns, bytes.TrimSpace(line)
		whole := markdown && (bytes.HasPrefix(text, []byte("|")) || bytes.HasPrefix(text, []byte("{"))) ||
			!markdown && bytes.HasSuffix(line, []byte("\"`"))
		if !whole {
			wide = append(wide, k+1)
		}
	}
	return wide
}

// readBudget reads testdata/budget.txt: a package, its files and its lines.
func readBudget(t *testing.T) map[string]size {
	t.Helper()
	budget := map[string]size{}
	for _, line := range readLines(t, budgetFile) {
		var name string
		var of size
		if _, err := fmt.Sscanf(line, "%s %d %d", &name, &of.files, &of.lines); err != nil {
			t.Fatalf("%s: %q is no package with its files and lines: %v", budgetFile, line, err)
		}
		budget[name] = of
	}
	return budget
}

// readLines returns the lines of a file but for comments and empty ones.
func readLines(t *testing.T, file string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	expect.OK(t, err)
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		if line := strings.TrimSpace(scanner.Text()); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func writeBudget(t *testing.T, old, now map[string]size) {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "# A package's production files and lines, at most. None may have more than %d and %d, whatever "+
		"stands here.\n# go test ./internal/layout -update writes smaller numbers.\n", mostFiles, mostLines)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		of := now[name]
		of.lines = (of.lines + 49) / 50 * 50 // a mend of some lines needs no new number
		if limit, listed := old[name]; listed {
			of = size{min(of.files, limit.files), min(of.lines, limit.lines)}
		}
		fmt.Fprintf(&out, "%s %d %d\n", name, of.files, of.lines)
	}
	writeFile(t, budgetFile, out.String())
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	expect.OK(t, os.WriteFile(file, []byte(text), 0o644))
}

// A package of many files has a doc.go that names each of them. testdata/undocumented.txt lists those that lack it.
func TestMaps(t *testing.T) {
	files, docs := map[string][]string{}, map[string]string{}
	eachFile(t, func(file string, text []byte) {
		if name := path.Base(file); name == "doc.go" {
			docs[path.Dir(file)] = string(text)
		} else if path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && !generated(text) {
			files[path.Dir(file)] = append(files[path.Dir(file)], name)
		}
	})
	open := readLines(t, undocumentedFile)
	var still []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if len(files[name])+1 < documentedFrom {
			continue
		}
		missing := unnamed(docs[name], files[name])
		if len(missing) == 0 {
			continue
		}
		still = append(still, name)
		if !slices.Contains(open, name) {
			t.Errorf("%s/doc.go does not name %s", name, strings.Join(missing, ", "))
		}
	}
	if *update {
		still = slices.DeleteFunc(still, func(name string) bool { return !slices.Contains(open, name) })
		writeFile(t, undocumentedFile, "# Packages whose doc.go does not name all files yet. -update takes out those that "+
			"do.\n"+strings.Join(still, "\n")+"\n")
	}
}

// unnamed returns the files that a text does not name, with .go or as a stem before _amd64.go and the like.
func unnamed(doc string, files []string) (missing []string) {
	words := strings.FieldsFunc(doc, func(c rune) bool {
		return c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
	for k := range words {
		words[k] = strings.TrimRight(words[k], ".")
	}
	for _, file := range files {
		if !slices.Contains(words, file) {
			missing = append(missing, file)
		}
	}
	return missing
}

func TestWidthsAndMapsAreFound(t *testing.T) {
	long := strings.Repeat("x", goColumns+1)
	for _, c := range []struct {
		file, text string
		want       int
	}{
		{"a.go", "// " + long + "\n", 1},
		{"a.go", strings.Repeat("ä", goColumns) + "\n", 0},
		{"a.go", "X int `key:\"" + long + "\"`\n", 0},
		{"a.md", strings.Repeat("x", markdownColumns) + "\n", 0},
		{"a.md", strings.Repeat("x", markdownColumns+1) + "\n| " + long + long + " |\n{" + long + long + "}\n", 1},
		{"a.go", "// Code generated by x. DO NOT EDIT.\n\npackage x\n// " + long, 0},
	} {
		if got := wideLines(c.file, []byte(c.text)); len(got) != c.want {
			t.Errorf("%s %.30q: wide lines %d, want %d", c.file, c.text, got, c.want)
		}
	}
	if got := unnamed("a.go reads; b_amd64.go.\n// xc.go", []string{"a.go", "b_amd64.go", "c.go"}); len(got) != 1 ||
		got[0] != "c.go" {
		t.Errorf("files without a name are %q, want c.go", got)
	}
}
