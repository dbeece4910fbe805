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
