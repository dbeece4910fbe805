package serve

import (
	"bytes"
	"errors"
	"fmt"
)

// errTooMany says that a request has more arrivals than it may have.
var errTooMany = errors.New("too many arrivals")

// structural are the bytes by which split finds its way.
var structural = [256]bool{'"': true, '[': true, '{': true, ']': true, '}': true, ',': true}

// split returns the text of each arrival of a body: each element of an array, or else the whole body. It follows
// strings and brackets only; the elements of valid JSON are found exactly, and faults inside one are left to its
// decoder, so that an arrival with a NaN, which no JSON library passes, does not take the others with it.
func split(body []byte, most int) (parts [][]byte, many bool, err error) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil, false, errors.New("the body is empty, want an arrival or an array of arrivals")
	}
	if body[0] != '[' {
		return [][]byte{body}, false, nil
	}
	depth, start := 0, 1
	for i := 0; i < len(body); i++ {
		c := body[i]
		if !structural[c] || c == ',' && depth > 1 {
			continue
		}
		switch c {
		case '"':
			if i = closingQuote(body, i); i < 0 {
				return nil, true, errors.New("a string has no end")
			}
		case '[', '{':
			if depth++; c == '[' && depth > 1 {
				i = endOfNumbers(body, i)
			}
		case ']', '}', ',':
			if c != ',' {
				depth--
			}
			if depth == 0 || c == ',' {
				if parts, err = appendElement(parts, body[start:i], most, c); err != nil {
					return nil, true, err
				}
				start = i + 1
			}
			if depth == 0 {
				if rest := bytes.TrimSpace(body[i+1:]); c != ']' || len(rest) > 0 {
					return nil, true, fmt.Errorf("the array does not end as one at byte %d", i)
				}
				return parts, true, nil
			}
		}
	}
	return nil, true, errors.New("the array has no end")
}

// endOfNumbers returns the place before the bracket that ends the list that begins at i, if the list holds no text,
// list or object, else i. Lists of features are most of a body, and four searches for a byte are faster than a look
// at each. None goes beyond the next list, so that a body is searched once, however it is nested.
func endOfNumbers(body []byte, i int) int {
	list := body[i+1:]
	if next := bytes.IndexByte(list, '['); next >= 0 {
		list = list[:next]
	}
	end := bytes.IndexByte(list, ']')
	if end < 0 || bytes.IndexByte(list[:end], '"') >= 0 || bytes.IndexByte(list[:end], '{') >= 0 ||
		bytes.IndexByte(list[:end], '}') >= 0 {
		return i
	}
	return i + end
}

// appendElement appends the element before a comma or the array's end. An array may have none at all.
func appendElement(parts [][]byte, element []byte, most int, before byte) ([][]byte, error) {
	element = bytes.TrimSpace(element)
	switch {
	case len(element) == 0 && len(parts) == 0 && before != ',':
		return parts, nil
	case len(element) == 0:
		return nil, fmt.Errorf("element %d of the array is empty", len(parts))
	case len(parts) == most:
		return nil, errTooMany
	}
	return append(parts, element), nil
}

// closingQuote returns the place of the quote that ends the string that begins at i, −1 if there is none.
func closingQuote(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
