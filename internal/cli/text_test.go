package cli

import "testing"

func TestTextIsPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"paper-12 é 猫": "paper-12 é 猫",
		"\x1b[2J":      `"\x1b[2J"`,
		"a\nclass 1":   `"a\nclass 1"`,
		"\u202Eabc":    `"\u202eabc"`, // the rest of the line would run backwards
		"\xff":         `"\xff"`,
		"\u009b31m":    `"\u009b31m"`, // the same as ESC [
	} {
		if got := Text(text); got != want {
			t.Errorf("%q is printed as %s, want %s", text, got, want)
		}
	}
}

// An error that repeats a hostile name has its lines, and nothing that a terminal obeys.
func TestMessageIsPrintable(t *testing.T) {
	const text = "version \x1b[2J\u009b31m\u202e\x00\x7f\xff\r:\n\t\"é\" \\ 猫 \ufffd"
	const want = "version \\x1b[2J\\u009b31m\\u202e\\x00\\x7f\\xff\\r:\n\t\"é\" \\ 猫 \ufffd"
	if got := Message(text); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
