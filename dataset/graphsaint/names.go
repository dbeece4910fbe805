package graphsaint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// ReadNames reads a JSON list of n distinct names, in order.
func ReadNames(r io.Reader, n int) (names []string, err error) {
	dec := json.NewDecoder(r)
	err = eachElement(dec, func(token json.Token) error {
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
		return names, err
	}
	if dec.More() {
		return names, errors.New("content behind the JSON list")
	}
	return names, CheckNames(names, n)
}

// CheckNames refuses names unless they are n distinct names in UTF-8, none of them empty.
func CheckNames(names []string, n int) error {
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
