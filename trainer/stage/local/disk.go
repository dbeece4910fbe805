package local

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"rivulet/trainer/stage"
)

// disk is a store in a directory:
//
//	NAME/KEY         records of a key in their wire form
//	NAME/table.json  the table, and the bytes of each key's file
//	NAME.partial     a table that is being written
type disk struct {
	dir    string
	buffer int64 // bytes that a table holds before it writes them to its files

	mu    sync.Mutex
	known map[string]*contents
}

const (
	contentsFile = "table.json"
	partial      = ".partial"
)

// contents is the content of table.json.
type contents struct {
	Table stage.Table
	Files map[int64]int64 // bytes by key
}

// newDisk opens a directory and removes half-written tables.
func newDisk(dir string, buffer int64) (*disk, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partial) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	return &disk{dir: dir, buffer: buffer, known: map[string]*contents{}}, nil
}

func (d *disk) find(name string) (stage.Table, bool, error) {
	c, err := d.contents(name)
	if errors.Is(err, fs.ErrNotExist) {
		return stage.Table{}, false, nil
	}
	if err != nil {
		return stage.Table{}, false, err
	}
	return c.Table, true, nil
}

// contents reads a table's description, and checks that its files are as long.
func (d *disk) contents(name string) (*contents, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.known[name]; c != nil {
		return c, nil
	}
	file := filepath.Join(d.dir, name, contentsFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := &contents{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for key, bytes := range c.Files {
		info, err := os.Stat(d.file(name, key))
		if err != nil {
			return nil, fmt.Errorf("table %s of an earlier run is damaged: %w; remove its directory", name, err)
		}
		if info.Size() != bytes {
			return nil, fmt.Errorf(
				"table %s of an earlier run is damaged: key %d has %d bytes, want %d; remove its directory %s", name, key,
				info.Size(), bytes, filepath.Join(d.dir, name))
		}
	}
	d.known[name] = c
	return c, nil
}

func (d *disk) file(name string, key int64) string {
	return filepath.Join(d.dir, name, strconv.FormatInt(key, 10))
}

func (d *disk) keys(name string) ([]int64, error) {
	c, err := d.contents(name)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(c.Files)), nil
}

func (d *disk) size(name string, key int64) (int64, error) {
	c, err := d.contents(name)
	if err != nil {
		return 0, err
	}
	return c.Files[key], nil
}

func (d *disk) load(name string, key int64) ([]stage.Record, error) {
	c, err := d.contents(name)
	if err != nil {
		return nil, err
	}
	if _, ok := c.Files[key]; !ok {
		return nil, nil
	}
	f, err := os.Open(d.file(name, key))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<18)
	var out []stage.Record
	for {
		record, err := stage.ReadRecord(r)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
		}
		out = append(out, record)
	}
}

func (d *disk) remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, name)
	// The table is gone at once, and its files by and by.
	away := filepath.Join(d.dir, name+".dropped"+partial)
	if err := os.Rename(filepath.Join(d.dir, name), away); err != nil {
		return err
	}
	return os.RemoveAll(away)
}

// tableAppender is a table that is being written to files.
type tableAppender struct {
	of  *disk
	dir string

	mu      sync.Mutex
	table   stage.Table
	files   map[int64]int64
	waiting map[int64][]byte
	held    int64
}

func (d *disk) create(name string) (writer, error) {
	dir := filepath.Join(d.dir, name+partial)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	return &tableAppender{of: d, dir: dir, table: stage.Table{Name: name}, files: map[int64]int64{},
		waiting: map[int64][]byte{}}, nil
}

func (a *tableAppender) write(r stage.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.waiting[r.Key])
	a.waiting[r.Key] = stage.AppendRecord(a.waiting[r.Key], r)
	a.held += int64(len(a.waiting[r.Key]) - before)
	a.table.Records++
	a.table.Bytes += int64(len(r.Order) + len(r.Payload))
	if a.held < a.of.buffer {
		return nil
	}
	return a.flush()
}

// flush appends the waiting records to the files of their keys.
func (a *tableAppender) flush() error {
	for key, bytes := range a.waiting {
		if err := a.append(key, bytes); err != nil {
			return err
		}
	}
	clear(a.waiting)
	a.held = 0
	return nil
}

func (a *tableAppender) append(key int64, bytes []byte) error {
	f, err := os.OpenFile(filepath.Join(a.dir, strconv.FormatInt(key, 10)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes)
	a.files[key] += int64(len(bytes))
	return errors.Join(err, f.Close())
}

func (a *tableAppender) finish() (stage.Table, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.flush(); err != nil {
		return stage.Table{}, err
	}
	text, err := json.Marshal(contents{a.table, a.files})
	if err != nil {
		return stage.Table{}, err
	}
	if err := os.WriteFile(filepath.Join(a.dir, contentsFile), text, 0o644); err != nil {
		return stage.Table{}, err
	}
	whole := filepath.Join(a.of.dir, a.table.Name)
	if _, err := os.Stat(whole); err == nil { // another output was missing, and this one has the same records
		return a.table, os.RemoveAll(a.dir)
	}
	return a.table, os.Rename(a.dir, whole)
}

func (a *tableAppender) abandon() { _ = os.RemoveAll(a.dir) } // newDisk removes leftovers
