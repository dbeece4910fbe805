package graphsaint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// eachElement walks a JSON list of plain values.
func eachElement(dec *json.Decoder, f func(json.Token) error) error {
	if err := expect(dec, json.Delim('[')); err != nil {
		return err
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return whole(err)
		}
		if err := f(token); err != nil {
			return err
		}
	}
	return expect(dec, json.Delim(']'))
}

// eachMember walks a JSON object without holding all of it, and sees every key: encoding/json would take the last of
// two equal keys.
func eachMember(r io.Reader, f func(dec *json.Decoder, key string) error) error {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	if err := expect(dec, json.Delim('{')); err != nil {
		return err
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return whole(err)
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("key %v is not a string", token)
		}
		if err := f(dec, key); err != nil {
			return err
		}
	}
	if err := expect(dec, json.Delim('}')); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("content behind the JSON object")
	}
	return nil
}

func expect(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if err != nil {
		return whole(err)
	}
	if token != want {
		return fmt.Errorf("found %v where %q should be", token, want)
	}
	return nil
}

// whole turns the end of input in the middle of a JSON text into a plain error.
func whole(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text ends too early")
	}
	return err
}

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
