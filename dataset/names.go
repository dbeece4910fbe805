package dataset

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"rivulet/dataset/file"
)

// loadNames reads a list of n distinct names, in order; without the file they are decimal indices.
func loadNames(dir, name string, n int) ([]string, error) {
	if _, err := os.Lstat(filepath.Join(dir, name)); file.Missing(err) {
		return Decimals(n), nil
	}
	var names []string
	err := file.Read(dir, name, maxJSONBytes, func(f *os.File, _ int64) error {
		dec := json.NewDecoder(bufio.NewReader(f))
		err := eachElement(dec, func(token json.Token) error {
			name, ok := token.(string)
			if !ok {
				return fmt.Errorf("[%d] is %v, want a string", len(names), token)
			}
			if len(names) == n {
				return fmt.Errorf("more than %d names, one for each node or class", n)
			}
			names = append(names, name)
			return nil
		})
		if err != nil {
			return err
		}
		if dec.More() {
			return errors.New("content behind the JSON list")
		}
		return checkNames(names, n)
	})
	return names, err
}

// checkNames refuses names unless they are n distinct names in UTF-8, none of them empty.
func checkNames(names []string, n int) error {
	if len(names) != n {
		return fmt.Errorf("%d names, want %d", len(names), n)
	}
	first := make(map[string]int, len(names))
	for i, name := range names {
		if name == "" || !utf8.ValidString(name) {
			return fmt.Errorf("[%d] is %.100q, want a name in UTF-8", i, name)
		}
		if k, twice := first[name]; twice {
			return fmt.Errorf("[%d] is %.100q, as is [%d]", i, name, k)
		}
		first[name] = i
	}
	return nil
}
