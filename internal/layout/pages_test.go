package layout

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"rivulet/test/expect"
)

const (
	pageColumns = 120
	pageBytes   = 250_000 // of all pages
)

// manuals are the pages of docs.
var manuals = []string{"algorithm", "comparison", "data", "operate", "recipes", "results", "scale", "serve", "stream",
	"tasks", "tutorial"}

// pages returns all pages in Markdown by their path, but those that tools have written into directories that git
// ignores.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	root := os.DirFS("../..")
	expect.OK(t, fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); file != "." && strings.HasPrefix(name, ".") && name != ".github" || name == "out" ||
				name == "build" && strings.HasPrefix(file, "python") || strings.HasSuffix(name, ".egg-info") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) == ".md" {
			text, err := fs.ReadFile(root, file)
			found[file] = string(text)
			return err
		}
		return nil
	}))
	return found
}

// Pages stay small: lines of so many columns, so many bytes in all, and no manual beside those that readers know.
func TestPagesAreSmall(t *testing.T) {
	var names []string
	bytes := 0
	for file, text := range pages(t) {
		bytes += len(text)
		for k, line := range strings.Split(text, "\n") {
			if columns := utf8.RuneCountInString(line); columns > pageColumns {
				t.Errorf("%s:%d has %d columns, want at most %d", file, k+1, columns, pageColumns)
			}
		}
		if name, is := strings.CutPrefix(file, "docs/"); is {
			names = append(names, strings.TrimSuffix(name, ".md"))
			_, text, _ := strings.Cut(text, "\n")
			if first := strings.TrimSpace(text); !strings.HasPrefix(first, "For ") {
				line, _, _ := strings.Cut(first, "\n")
				t.Errorf("%s begins with %q, and does not say for whom it is", file, line)
			}
		}
	}
	slices.Sort(names)
	expect.Same(t, manuals, names, "pages of docs")
	if bytes > pageBytes {
		t.Errorf("pages have %d bytes in all, want at most %d", bytes, pageBytes)
	}
}

var (
	code    = regexp.MustCompile("(?ms)^ *```.*?^ *```|`[^`\n]*`")
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	anchor  = regexp.MustCompile(`<a id="([^"]+)">`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
)

// anchors returns the places of a page that links can name.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	text = fenced.ReplaceAllString(text, "")
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	for _, a := range anchor.FindAllStringSubmatch(text, -1) {
		found[a[1]] = true
	}
	return found
}

// Links among pages, and from code to pages, lead to files and headings that are there.
func TestLinksOfPages(t *testing.T) {
	all := pages(t)
	places := map[string]map[string]bool{}
	for file, text := range all {
		places[file] = anchors(text)
	}
	checked := 0
	follow := func(from, to string) {
		file, place, _ := strings.Cut(to, "#")
		if file == "" {
			file = from
		} else {
			file = path.Join(path.Dir(from), file)
		}
		checked++
		if _, err := os.Stat("../../" + file); err != nil {
			t.Errorf("%s: the link %s leads nowhere", from, to)
		} else if place != "" && places[file] != nil && !places[file][place] {
			t.Errorf("%s: %s has no heading %q", from, file, place)
		}
	}
	for file, text := range all {
		for _, l := range link.FindAllStringSubmatch(code.ReplaceAllString(text, "``"), -1) {
			if !strings.Contains(l[1], "://") {
				follow(file, l[1])
			}
		}
	}
	named := regexp.MustCompile(`\bdocs/[a-z-]+\.md(#[a-z0-9-]+)?`)
	root := os.DirFS("../..")
	expect.OK(t, fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file == ".git" || file == "out" || file == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".py", ".yaml", ".proto", ".ipynb", ".sh", ""}, path.Ext(file)) {
			return nil
		}
		text, err := fs.ReadFile(root, file)
		for _, to := range named.FindAllString(string(text), -1) {
			follow(path.Base(file), to)
		}
		return err
	}))
	if checked < 100 {
		t.Errorf("%d links were found", checked)
	}
}
