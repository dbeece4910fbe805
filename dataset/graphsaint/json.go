package graphsaint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
