package dataset

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"rivulet/dataset/file"
	"rivulet/dataset/table"
	"rivulet/infer/target"
)

// Names of the formats that this package reads. Package dataset/parquet has one more.
const (
	GraphSAINT = "graphsaint"
	CSV        = "csv"
)

// Format is one form of data sets on disk.
type Format struct {
	Name string
	// Looks describes the files that Found looks for, for the error if nothing is found.
	Looks string
	// Found reports whether path seems to hold a data set of this format, judged by names of files only.
	Found func(path string) bool
	// Read reads and checks the whole data set. It keeps every promise of Dataset's fields.
	Read func(path string, o OpenOptions) (*Dataset, error)

	// Tables are the kind of its files, of a format that is tables.
	Tables *table.Kind
}

// OpenOptions say how [Open] reads a data set.
type OpenOptions struct {
	Format string // name of the format; empty: recognised by the files at the path
	// SplitSeed is the seed of the random split of data without a split (see [Open]).
	SplitSeed uint64
	// Tables describe the columns of tables; other formats refuse them.
	Tables table.Settings
	// Faults, if there are any, collect the faults of tables, which are then no errors.
	Faults *table.Faults
}

// registered are the formats of packages that this program has beside this one.
var registered []Format

// Register adds a format to the formats that this program reads. The package of a format with a large library calls it
// in its init, so that only programs that import the package link the library.
func Register(f Format) { registered = append(registered, f) }

// Formats returns the formats that this program reads: the ones of this package, and the registered ones.
func Formats() []Format {
	return append([]Format{
		{Name: GraphSAINT, Looks: "a directory with " + adjFile, Found: hasFile(adjFile),
			Read: func(path string, o OpenOptions) (*Dataset, error) { return load(path, o.Tables) }},
		csvFormat, tablesFormat(),
	}, registered...)
}

// Open reads a data set of any format that it knows: a directory, or the one file of the whole set. Errors name file,
// place and reason. The data set's Notes name the changes that reading made (merged edges, dropped self-loops, a drawn
// split).
//
// Data without a split (tables without a column split) get one: half of the labelled nodes train, a quarter validate,
// the rest test, at random by o.SplitSeed; nodes without a label are unlabelled.
func Open(path string, o OpenOptions) (*Dataset, error) {
	if table.IsURL(path) {
		return nil, fmt.Errorf("loading data set: %w; the two tables are named by --nodes and --edges", table.URLError(path))
	}
	f, err := o.format(path)
	if err != nil {
		return nil, fmt.Errorf("loading data set %s: %w", path, err)
	}
	arrays := f.Name == GraphSAINT
	// Links are read from edges, unless a column tells the candidates.
	links := arrays && !o.Tables.HasLabels() && o.Tables.Candidates == ""
	if links {
		o.Tables.Task = ""
	}
	if arrays && o.Tables.Truth() == target.NumberEach {
		return nil, fmt.Errorf("loading data set %s (%s): --task %s is read from columns of tables, and the layout has "+
			"classes or labels", path, f.Name, o.Tables.Task)
	}
	if arrays {
		if err := layoutSettings(o.Tables); err != nil {
			return nil, fmt.Errorf("loading data set %s (%s): %w", path, f.Name, err)
		}
	}
	d, err := f.Read(path, o)
	if err == nil && links {
		err = d.AsLinks()
	}
	if err != nil {
		return nil, fmt.Errorf("loading data set %s (%s): %w", path, f.Name, err)
	}
	return d, nil
}

func (o OpenOptions) format(path string) (Format, error) {
	known := Formats()
	if o.Format != "" {
		names := make([]string, len(known))
		for i, f := range known {
			if f.Name == o.Format {
				return f, nil
			}
			names[i] = f.Name
		}
		return Format{}, fmt.Errorf("format is %q, want one of %s", o.Format, strings.Join(names, ", "))
	}
	var found []Format
	var looked []string
	for _, f := range known {
		looked = append(looked, f.Name+": "+f.Looks)
		if f.Found(path) {
			if f.Name == describedTables { // it says which tables
				return f, nil
			}
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		if _, err := os.Stat(path); err != nil {
			return Format{}, err
		}
		if _, err := (table.Kind{Exts: []string{".parquet"}}).Conventional(path, "nodes", table.TextForm{}); err == nil {
			return Format{}, errors.New(
				"the tables are Parquet, which the trainer reads and this program does not: write them as CSV",
			)
		}
		return Format{}, fmt.Errorf(
			"found %w; tables of any names are described by data.yaml, which  trainer data init  writes; looked for %s",
			ErrUnknown,
			strings.Join(looked, "; "),
		)
	case 1:
		return found[0], nil
	}
	return Format{}, fmt.Errorf("it looks like %s and like %s: name the format", found[0].Name, found[1].Name)
}

// ErrUnknown means that there is something, and that it is no data set of a known format.
var ErrUnknown = errors.New("no data set of a known format")

// hasFile returns a function that reports whether a directory has a file of this name.
func hasFile(name string) func(string) bool {
	return func(dir string) bool { return file.Has(dir, name) }
}

// Kinds are the kinds of tables that this program reads.
func Kinds() []table.Kind {
	var kinds []table.Kind
	for _, f := range Formats() {
		if f.Tables != nil {
			kinds = append(kinds, *f.Tables)
		}
	}
	return kinds
}
