// Package logs writes the log of a program: its lines, whose texts are bounded, and what a stream does.
package logs

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"unicode/utf8"
)

// NewLogger returns a logger that writes lines in a format, "text" or "json", of at least a level: "debug", "info",
// "warn" or "error". The level may be set while the logger is used.
func NewLogger(level, format string, w io.Writer) (*slog.Logger, *slog.LevelVar, error) {
	least := new(slog.LevelVar)
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, nil, fmt.Errorf("log level is %q, want debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: least, ReplaceAttr: bounded}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), least, nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), least, nil
	}
	return nil, nil, fmt.Errorf("log format is %q, want text or json", format)
}

// PlainLogger returns a logger that writes lines of text of the level info and above.
func PlainLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: bounded}))
}

// maxText bounds each text of a line, in bytes: ids, keys, details and errors may be parts of hostile records.
const maxText = 4 << 10

// bounded cuts the text of an attribute or a message, and replaces characters that a terminal could take for a command:
// the format json has U+009B, for example, as it is, which some terminals take for ESC [.
func bounded(_ []string, a slog.Attr) slog.Attr {
	var text string
	switch a.Value.Kind() {
	case slog.KindString:
		text = a.Value.String()
	case slog.KindAny:
		if err, isError := a.Value.Any().(error); isError {
			text = err.Error()
		}
	}
	if text == "" {
		return a
	}
	short := text
	if len(text) > maxText {
		short = fmt.Sprintf("%s… (%d bytes)", text[:maxText], len(text))
	}
	a.Value = slog.StringValue(strings.Map(func(c rune) rune {
		if c >= utf8.RuneSelf && !strconv.IsPrint(c) || c == 0x7f {
			return utf8.RuneError
		}
		return c // slog escapes the others
	}, short))
	return a
}
