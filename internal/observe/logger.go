package observe

import (
	"fmt"
	"io"
	"log/slog"
)

// NewLogger returns a logger that writes lines in a format, "text" or "json", of at least a level: "debug", "info",
// "warn" or "error".
func NewLogger(level, format string, w io.Writer) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level is %q, want debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, fmt.Errorf("log format is %q, want text or json", format)
}
