package fields

import (
	"fmt"
	"strconv"

	"rivulet/event"
)

// Writer appends a record to Buf. Err is the error of the first value that cannot be written.
type Writer struct {
	Buf []byte
	Err error
}

// Fail keeps the first error.
func (w *Writer) Fail(err error) {
	if w.Err == nil {
		w.Err = err
	}
}

// Within puts the path of a message before the path of its error. The message is element i of a list unless i is
// negative; failed says that there was an error before it.
func (w *Writer) Within(message string, i int, failed bool) {
	if w.Err != nil && !failed {
		w.Err = Inside(Place(message, i), w.Err)
	}
}

// Result returns the record, or dst as it was and the error; what and id name the record there.
func (w *Writer) Result(dst []byte, what, id string) ([]byte, error) {
	if w.Err != nil {
		return dst, fmt.Errorf("encoding %s %s: %w", what, event.Cut(strconv.Quote(id)), w.Err)
	}
	return w.Buf, nil
}
