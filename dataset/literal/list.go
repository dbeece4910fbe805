package literal

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	// A number of NumPy 2 as Python prints it in a list: np.float64(0.5).
	numpyScalar = regexp.MustCompile(`np\.\w+\(([^()]*)\)`)
	// A list as a program prints it with its type: array([0.5, 1.5], dtype=float32), c(0.5, 1.5), WrappedArray(0.5, 1.5).
	printed = regexp.MustCompile(`^[A-Za-z_.]+\(\s*(\[[^\]]*\]|[^\[\]()=]*?)\s*(?:,[^\]]*=[^\]]*)?\)$`)
)

// Thousands matches a number with marks between its thousands, which may also be a list of numbers of three digits.
var Thousands = regexp.MustCompile(`^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$|^[+-]?\d{1,3}( \d{3})+(\.\d+)?$`)

// ErrThousands refuses what [Thousands] matches.
var ErrThousands = errors.New(
	"it can be read as a number with marks between thousands, or as a list: write 1250000 for 1,250,000, or say that " +
		"the column is a list (types)",
)

// ErrShortened refuses a list that a program has shortened to its first and last numbers.
var ErrShortened = errors.New(
	`NumPy has shortened the list with "...": its numbers are lost: write them with x.tolist() or as Parquet`)

// List reads a list of features from text: numbers between spaces, semicolons, commas or bars, with or without
// brackets around them or quotes around each, also as Python, R, Spark and Postgres print arrays.
func List(text string) (list []float64, err error) {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "...") || strings.Contains(text, "…") {
		return nil, fmt.Errorf("%.40q: %w", text, ErrShortened)
	}
	if strings.Contains(text, "np.") {
		text = numpyScalar.ReplaceAllString(text, "$1")
	}
	if inner := printed.FindStringSubmatch(text); inner != nil {
		text = inner[1]
	}
	for _, pair := range []string{"()", "[]", "{}", "<>"} {
		open, end := pair[:1], pair[1:]
		inner, opened := strings.CutPrefix(text, open)
		inner, closed := strings.CutSuffix(inner, end)
		switch {
		case opened && !closed:
			return nil, fmt.Errorf("the list %.40q… has no closing bracket", text)
		case closed && !opened:
			return nil, fmt.Errorf("the list …%q has no opening bracket", text[max(len(text)-40, 0):])
		case opened:
			text = inner
		}
	}
	if strings.ContainsRune(text, ',') && strings.ContainsRune(text, ';') {
		return nil, fmt.Errorf("the list %.40q has commas and semicolons: write a point before the fraction of a number",
			text)
	}
	place := 0
	for field := range strings.FieldsFuncSeq(text, betweenNumbers) {
		v, err := Number(strings.Trim(field, `'"`), false)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", place, err)
		}
		list = append(list, v)
		place++
	}
	return list, nil
}

func betweenNumbers(r rune) bool { return strings.ContainsRune(" \t\r\n;,|", r) }

// Opening matches the opening of a list, perhaps with a type; closing its end.
var (
	Opening = regexp.MustCompile(`^(?:[A-Za-z_.]*[\[({<\s]+)+`)
	closing = regexp.MustCompile(`[\])}>]$`)
)

// ListLike reports whether a text that is no list of numbers was one for the program that wrote it: two numbers at
// least in brackets or with a bracket lost, shortened, or with commas before fractions.
func ListLike(text string) bool {
	text = numpyScalar.ReplaceAllString(strings.TrimSpace(text), "$1")
	bare := Opening.ReplaceAllString(text, "")
	fields := strings.FieldsFunc(bare,
		func(r rune) bool { return betweenNumbers(r) || strings.ContainsRune(`[](){}<>'"`, r) })
	numbers := 0
	for _, field := range fields {
		if _, err := Number(field, false); err == nil || Missing(field) {
			numbers++
		}
	}
	if len(fields) < 2 {
		return false
	}
	_, err := Number(fields[0], false)
	first := err == nil || Missing(fields[0])
	return numbers == len(fields) ||
		first && 2*numbers > len(fields) && (bare != text || closing.MatchString(text) || strings.Contains(text, "..."))
}
