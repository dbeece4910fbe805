package table

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"rivulet/dataset/file"
)

// File is an open file of nodes or edges.
type File interface {
	// Columns returns the names of the columns.
	Columns() []string
	// Categorical reports whether the file declares that the values of a column are categories.
	Categorical(column int) bool
	// Guess describes a guess at the file's form; empty: nothing was guessed.
	Guess() string
	// Doubt asks about the file's form, if it is used; empty: there is no question.
	Doubt() string
	// Each calls use with the cells of the given columns of each row. Its errors name the row.
	Each(columns []int, use func(cells []Cell, at Place) error) error
}

// Opener opens a file of a table, lets use take it, and closes it. Its errors need not name the file.
type Opener func(f *os.File, name string, size int64, form TextForm, use func(File) error) error

// Kind is a kind of files that hold tables, such as CSV.
type Kind struct {
	Exts []string // extensions with their dot
	// Named are extensions of files that are tables only where they are named.
	Named []string
	// Text says that a file of any other extension is of this kind where it is named.
	Text bool
	Open Opener
}

// Place is the place of a row of a table, for errors.
type Place struct {
	File string // its name within the data set
	Unit string // "line" or "row"
	Row  int    // the first is 1
}

func (p Place) String() string { return fmt.Sprintf("%s %s %d", p.File, p.Unit, p.Row) }

// Source is the files of one table. All have the same columns, in any order.
type Source struct {
	Dir   string   // names of files are relative to it, in errors too
	Files []string // by name
	open  Opener
	form  TextForm
	types *typeColumns // nil: a table of nodes of one type, or of edges
}

// Named finds the files of a table by its path: a file, or a directory of files.
func Named(path string, kinds []Kind, form TextForm) (Source, error) {
	if IsURL(path) {
		return Source{}, URLError(path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return Source{}, err
	}
	var known []string
	var found Source
	for _, kind := range kinds {
		known = append(append(known, kind.Exts...), kind.Named...)
		s := Source{Files: []string{path}, open: kind.Open, form: form}
		if !info.IsDir() && (hasExt(path, kind.Exts) || hasExt(path, kind.Named)) {
			return s, nil
		}
		if info.IsDir() {
			if s.Files, err = parts(path, kind.Exts); err != nil {
				return s, err
			}
			if len(s.Files) > 0 && len(found.Files) > 0 {
				return s, fmt.Errorf("%s has tables of two kinds, %s and %s: keep one", path, found.Files[0], s.Files[0])
			}
			if len(s.Files) > 0 {
				found = s
			}
		}
	}
	if len(found.Files) > 0 {
		return found, nil
	}
	if hasExt(path, []string{".parquet"}) {
		return Source{}, fmt.Errorf("%s is Parquet, which this program does not read", path)
	}
	for _, kind := range kinds {
		if kind.Text && !info.IsDir() {
			if hasExt(strings.ToLower(path), binaries) {
				return Source{}, fmt.Errorf("%s is no table of text: %s", path, Python(path))
			}
			return Source{Files: []string{path}, open: kind.Open, form: form}, nil
		}
	}
	return Source{}, fmt.Errorf("%s is no table, and no directory of tables, whose names end in %s", path,
		strings.Join(known, ", "))
}

// binaries are extensions of files that are no tables of text.
var binaries = []string{".gml", ".graphml", ".gexf", ".net", ".pt", ".pth", ".npz", ".npy", ".pkl", ".pickle", ".p",
	".json", ".jsonl", ".ndjson", ".xlsx", ".xls", ".feather", ".arrow", ".yaml", ".yml", ".zip", ".tar", ".mat",
	".mtx", ".html", ".xml"}

// Conventional finds the files of a table that lies where the convention says: dir/table.ext, which is a file or a
// directory of such files, or a directory dir/table.
func (k Kind) Conventional(dir, table string, form TextForm) (Source, error) {
	s := Source{Dir: dir, open: k.Open, form: form}
	first := ""
	var names []string
	for _, ext := range append(slices.Clone(k.Exts), "") {
		names = append(names, table+ext)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil && !file.Missing(err) {
			return s, err
		}
		var files []string
		switch {
		case err != nil:
			continue
		case info.IsDir():
			if files, err = parts(path, k.Exts); err != nil {
				return s, err
			}
		case name != table && info.Mode().IsRegular():
			files = []string{path}
		}
		if len(files) == 0 {
			continue
		}
		for i, part := range files {
			if files[i], err = filepath.Rel(dir, part); err != nil {
				return s, err
			}
		}
		if first != "" {
			return s, fmt.Errorf("%s and %s both exist: which holds the %s?", first, files[0], table)
		}
		first, s.Files = files[0], files
	}
	if first == "" {
		return s, fmt.Errorf("neither %s%s nor a directory %s with such files exists", table,
			strings.Join(k.Exts, " nor "+table), table)
	}
	return s, nil
}

// logs are directories in which table formats record the valid files.
var logs = map[string]string{"_delta_log": "Delta Lake", ".hoodie": "Apache Hudi", "metadata": "Apache Iceberg"}

// parts lists the files of a directory that have one of the extensions, by name. Directories KEY=VALUE in it are
// partitions, as Hive and Spark write them. Names that begin with a point or an underscore are other programs' own.
func parts(dir string, exts []string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		name := entry.Name()
		path := filepath.Join(dir, name)
		switch format, log := logs[name]; {
		case log && entry.IsDir() && hasExt(dir, exts) || name == "_delta_log":
			return nil, fmt.Errorf("%s is a table of %s, whose log says which files count: write it as plain files", dir, format)
		case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"):
		case entry.IsDir():
			inner, err := parts(path, exts)
			if err == nil && len(inner) > 0 && !strings.Contains(name, "=") {
				err = fmt.Errorf("%s has tables, and is no partition KEY=VALUE of %s: put the files beside the others, or "+
					"rename it", path, dir)
			}
			if err != nil {
				return nil, err
			}
			files = append(files, inner...)
		case hasExt(name, exts):
			files = append(files, path)
		}
	}
	return files, nil
}

func hasExt(name string, exts []string) bool {
	return slices.ContainsFunc(exts, func(ext string) bool { return strings.HasSuffix(name, ext) })
}

// Paths returns the paths of the files.
func (s Source) Paths() []string {
	var paths []string
	for _, name := range s.Files {
		paths = append(paths, filepath.Join(s.Dir, name))
	}
	return paths
}

// Each opens the files one after another. Errors name the file.
func (s Source) Each(use func(File) error) error {
	var first []string
	for _, name := range s.Files {
		err := file.Read(s.Dir, name, file.MaxBytes, func(f *os.File, size int64) error {
			return s.open(f, name, size, s.form, func(t File) error {
				t, err := partitioned(t, name)
				if err != nil {
					return err
				}
				if first == nil {
					first = slices.Clone(t.Columns())
				}
				if t, err = ordered(t, first); err != nil {
					return fmt.Errorf("%w as in %s", err, s.Files[0])
				}
				return use(t)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Columns returns the names of the table's columns, and whether each is declared to hold categories.
func (s Source) Columns() (names []string, categorical []bool, err error) {
	err = s.Each(func(f File) error {
		names = slices.Clone(f.Columns())
		for i := range names {
			categorical = append(categorical, f.Categorical(i))
		}
		return errSeen
	})
	if errors.Is(err, errSeen) {
		err = nil
	}
	return names, categorical, err
}

// view is a file with columns in another order, or with columns that have one value in all rows.
type view struct {
	File
	names  []string
	from   []int  // the column of the file; -1: it has none
	values []Cell // of columns that the file lacks
}

func (v *view) Columns() []string { return v.names }

func (v *view) Categorical(column int) bool {
	return v.from[column] < 0 || v.File.Categorical(v.from[column])
}

func (v *view) Each(columns []int, use func(cells []Cell, at Place) error) error {
	var inner []int
	for _, c := range columns {
		if v.from[c] >= 0 {
			inner = append(inner, v.from[c])
		}
	}
	cells := make([]Cell, len(columns))
	return v.File.Each(inner, func(read []Cell, at Place) error {
		k := 0
		for i, c := range columns {
			if cells[i] = v.values[c]; v.from[c] >= 0 {
				cells[i] = read[k]
				k++
			}
		}
		return use(cells, at)
	})
}

// partitioned adds the columns that the directories of a file's path name: split=train/part-0.parquet has a column
// split, train in each row. A column that is in the file, too, is the file's.
func partitioned(t File, path string) (File, error) {
	v := &view{File: t}
	for _, dir := range strings.Split(filepath.ToSlash(filepath.Dir(path)), "/") {
		key, text, is := strings.Cut(dir, "=")
		if !is || slices.Contains(t.Columns(), key) {
			continue
		}
		value, err := url.PathUnescape(text)
		if err != nil {
			return nil, fmt.Errorf("partition %s: %w", dir, err)
		}
		cell := Cell{Kind: Raw, Text: value}
		if value == "__HIVE_DEFAULT_PARTITION__" {
			cell = Cell{}
		}
		v.names, v.from, v.values = append(v.names, key), append(v.from, -1), append(v.values, cell)
	}
	if v.names == nil {
		return t, nil
	}
	for i, name := range t.Columns() {
		v.names, v.from, v.values = append(v.names, name), append(v.from, i), append(v.values, Cell{})
	}
	return v, nil
}

// ordered returns a file with its columns in the order of the first file of a table.
func ordered(t File, first []string) (File, error) {
	names := t.Columns()
	if slices.Equal(names, first) {
		return t, nil
	}
	v := &view{File: t, names: first, values: make([]Cell, len(first))}
	for _, name := range first {
		v.from = append(v.from, slices.Index(names, name))
	}
	if len(names) != len(first) || slices.Contains(v.from, -1) ||
		cmp.Or(distinctNames(names), distinctNames(first)) != nil {
		return nil, fmt.Errorf("columns %s, want %s", listed(names), listed(first))
	}
	return v, nil
}

// schemed matches the beginning of a URL. A scheme of one letter would be a drive.
var schemed = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)

// IsURL reports whether the path of a table is a URL, such as s3a://bucket/users or file:/data/users: this package
// reads files.
func IsURL(path string) bool { return schemed.MatchString(path) }

// URLError is about a path that is a URL.
func URLError(path string) error {
	return fmt.Errorf("%s is a URL, want the path of a file", path)
}
