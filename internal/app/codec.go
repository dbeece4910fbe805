package app

import (
	"fmt"

	"rivulet/event"
)

// codec is the wire form that a setting names.
func codec(setting, format string) (event.Codec, error) {
	c, ok := event.ForFormat(format)
	if !ok {
		return nil, fmt.Errorf("%s is %q, which names no form of records", setting, format)
	}
	return c, nil
}
