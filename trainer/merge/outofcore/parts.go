package outofcore

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rivulet/dataset/parquet"
	"rivulet/durable"
)

// partBytes is about the memory of the rows that are written as one file.
const partBytes = 16 << 20

// parts are rows in Parquet files of about a size, DIR/NAME-00000.parquet and on.
type parts[T any] struct {
	disk  durable.Disk
	dir   string
	name  string
	files int
	rows  int64 // in files and in memory

	held  []T
	bytes int
}

// add takes a row of so many bytes.
func (p *parts[T]) add(row T, bytes int) error {
	p.held = append(p.held, row)
	p.rows++
	if p.bytes += bytes; p.bytes < partBytes {
		return nil
	}
	return p.flush()
}

// flush writes what is held as a file.
func (p *parts[T]) flush() error {
	if len(p.held) == 0 {
		return nil
	}
	err := p.disk.WriteFile(p.dir, p.file(p.files), func(w io.Writer) error {
		return parquet.WriteRows(w, func(yield func(T, error) bool) {
			for _, row := range p.held {
				if !yield(row, nil) {
					return
				}
			}
		})
	})
	if err != nil {
		return err
	}
	clear(p.held)
	p.held, p.bytes = p.held[:0], 0
	p.files++
	return nil
}

func (p *parts[T]) file(k int) string { return fmt.Sprintf("%s-%05d.parquet", p.name, k) }

// eachOf calls use with the rows of parts, in their order, of which it reads the columns that Row has.
func eachOf[Row, T any](p *parts[T], use func(*Row) error) error {
	if err := p.flush(); err != nil {
		return err
	}
	for k := range p.files {
		if err := eachRow(filepath.Join(p.dir, p.file(k)), use); err != nil {
			return err
		}
	}
	return nil
}

// eachRow calls use with the rows of a file.
func eachRow[Row any](path string, use func(*Row) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := parquet.EachRow(f, use); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
