package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Names of the formats that this package reads. Package dataset/parquet has one more.
const (
	GraphSAINT   = "graphsaint"
	Planetoid    = "planetoid"
	GNNBenchmark = "gnn-benchmark"
	CSV          = "csv"
)

// Format is one way in which data sets are kept.
type Format struct {
	Name string
	// Looks says in words what Found looks for, for the error that finds nothing.
	Looks string
	// Found says whether path seems to hold a data set of this format, by names of files alone.
	Found func(path string) bool
	// Read reads and checks the whole data set. It keeps every promise of Dataset's fields.
	Read func(path string, o OpenOptions) (*Dataset, error)
}

// OpenOptions say how [Open] reads a data set.
type OpenOptions struct {
	Format string // name of the format; empty: by what is found at the path
	// SplitSeed is the seed of the random split of data that bring none (see [Open]).
	SplitSeed uint64
	// More are formats beside this package's own.
	More []Format
}

// Formats are the formats that [Open] knows without more.
func Formats() []Format {
	return []Format{
		{GraphSAINT, "a directory with " + adjFile, hasFile(adjFile), func(path string, _ OpenOptions) (*Dataset, error) { return load(path) }},
		planetoidFormat, gnnBenchmarkFormat, csvFormat,
	}
}

// Open reads a data set of any format that it knows: a directory, or the one file that is the whole set. Errors name file,
// place and reason. What reading changed for the data to fit (merged edges, dropped self-loops, a split that was drawn) is
// told in the data set's Notes.
//
// Data that bring no split (gnn-benchmark, tables without a column split) get the one that is usual for gnn-benchmark:
// half of the labelled nodes train, a quarter validation, the rest test, at random by o.SplitSeed; nodes without a label
// are unlabelled.
func Open(path string, o OpenOptions) (*Dataset, error) {
	f, err := o.format(path)
	if err != nil {
		return nil, fmt.Errorf("loading data set %s: %w", path, err)
	}
	d, err := f.Read(path, o)
	if err != nil {
		return nil, fmt.Errorf("loading data set %s (%s): %w", path, f.Name, err)
	}
	return d, nil
}

func (o OpenOptions) format(path string) (Format, error) {
	known := append(Formats(), o.More...)
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
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		if _, err := os.Stat(path); err != nil {
			return Format{}, err
		}
		if _, err := tableFiles(path, "nodes", ".parquet"); err == nil {
			return Format{}, errors.New("the tables there are Parquet, which the trainer reads and this program does not: write them as CSV")
		}
		return Format{}, errors.New("no data set of a known format is there; looked for " + strings.Join(looked, "; "))
	case 1:
		return found[0], nil
	}
	return Format{}, fmt.Errorf("it looks like %s and like %s: name the format", found[0].Name, found[1].Name)
}

// hasFile finds a directory with a file of this name.
func hasFile(name string) func(string) bool {
	return func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	}
}

// nameOf is the name of the directory or file itself, also where path is "." or ends in "..".
func nameOf(path string) (string, error) {
	abs, err := filepath.Abs(path)
	return filepath.Base(abs), err
}

// missing says that err is about a file that is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
