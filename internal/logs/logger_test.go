package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/test/expect"
)

func TestNewLogger(t *testing.T) {
	var out bytes.Buffer
	logger, _, err := NewLogger("warn", "text", &out)
	expect.OK(t, err)
	logger.Info("below")
	logger.Warn("above", "n", 3)
	if got := out.String(); strings.Contains(got, "below") || !strings.Contains(got, "level=WARN msg=above n=3") {
		t.Errorf("got %q", got)
	}

	out.Reset()
	if logger, _, err = NewLogger("debug", "json", &out); err != nil {
		t.Fatal(err)
	}
	logger.Debug("all")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["msg"] != "all" {
		t.Errorf("got %q, %v", out.String(), err)
	}

	if _, _, err := NewLogger("loud", "text", &out); err == nil || !strings.Contains(err.Error(), `"loud"`) {
		t.Errorf("level: got %v", err)
	}
	if _, _, err := NewLogger("info", "xml", &out); err == nil || !strings.Contains(err.Error(), `"xml"`) {
		t.Errorf("format: got %v", err)
	}
}

// Whatever the key, the detail, the reason or the topic of a dead letter, or an error's text, are: a line of the log is
// one line of printable characters, and of at most some bytes.
func TestLinesOfTheLogAreBounded(t *testing.T) {
	const most = 100 << 10 // four texts, whose bytes may become six each
	longest, of := 0, ""
	for _, text := range []string{"\x1b[2J", "\x1b]0;title\a", "\u009b31m", "\u202eabc", "\x7f",
		"a\nlevel=ERROR msg=forged", "\xff",
		"\x00", "\"", "\\", "<", "é", "猫", "\U0001F600", "\u2028"} {
		for _, format := range []string{"text", "json"} {
			for _, size := range []int{1, 1 << 20} {
				hostile := strings.Repeat(text, max(1, size/len(text)))
				var out bytes.Buffer
				log, _, err := NewLogger("debug", format, &out)
				expect.OK(t, err)
				NewJournal(log, nil).Batch(consumer.BatchStats{Name: hostile, Version: hostile, Delivered: &event.Batch{
					DeadLetters: []event.DeadLetter{{Key: []byte(hostile), Reason: hostile, Detail: hostile,
						Source: event.Source{Topic: hostile}}}}})
				log.Warn(hostile, "error", errors.New(hostile))
				lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
				if len(lines) != 3 {
					t.Fatalf("%s: %d lines of %q, want 3", format, len(lines), text)
				}
				for _, line := range lines {
					unprintable := func(c rune) bool { return c != utf8.RuneError && !strconv.IsPrint(c) }
					if len(line) > most || strings.ContainsFunc(line, unprintable) {
						t.Errorf("%s: a line of %d bytes for %d bytes of %q: %.200q", format, len(line), len(hostile), text, line)
					}
					if len(line) > longest {
						longest, of = len(line), fmt.Sprintf("%s, %q", format, text)
					}
				}
			}
		}
	}
	t.Logf("%s: the longest line has %d bytes, of 4 MiB of text", of, longest)
}
