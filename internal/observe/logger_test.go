package observe

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestNewLogger(t *testing.T) {
	var out bytes.Buffer
	logger, err := NewLogger("warn", "text", &out)
	if err != nil {
		t.Fatal(err)
	}
	logger.Info("below")
	logger.Warn("above", "n", 3)
	if got := out.String(); strings.Contains(got, "below") || !strings.Contains(got, "level=WARN msg=above n=3") {
		t.Errorf("got %q", got)
	}

	out.Reset()
	if logger, err = NewLogger("debug", "json", &out); err != nil {
		t.Fatal(err)
	}
	logger.Debug("all")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["msg"] != "all" {
		t.Errorf("got %q, %v", out.String(), err)
	}

	if _, err := NewLogger("loud", "text", &out); err == nil || !strings.Contains(err.Error(), `"loud"`) {
		t.Errorf("level: got %v", err)
	}
	if _, err := NewLogger("info", "xml", &out); err == nil || !strings.Contains(err.Error(), `"xml"`) {
		t.Errorf("format: got %v", err)
	}
}
