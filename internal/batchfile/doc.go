// Package batchfile reads arrivals from files and writes predictions to files, for batches outside of any stream: JSON
// lines, CSV and Parquet, by the name's extension.
//
//	reader.go  a row of a table -> an arrival's JSON, which takes the path of every record
//	writer.go  a prediction -> a line or a row
package batchfile

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Form is a form of files.
type Form string

// The forms.
const (
	Lines   Form = "jsonl"
	CSV     Form = "csv"
	Parquet Form = "parquet"
)

// FormOf returns the form of a file by its name; - is standard input or output, of JSON lines.
func FormOf(name string) (Form, error) {
	switch ext := strings.ToLower(filepath.Ext(name)); {
	case name == "-", ext == ".jsonl", ext == ".json", ext == ".ndjson":
		return Lines, nil
	case ext == ".csv":
		return CSV, nil
	case ext == ".parquet":
		return Parquet, nil
	}
	return "", fmt.Errorf("%s ends in none of .jsonl, .csv and .parquet", name)
}
