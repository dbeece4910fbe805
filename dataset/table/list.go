package table

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	// A number of NumPy 2 as Python prints it in a list: np.float64(0.5).
	numpyScalar = regexp.MustCompile(`np\.\w+\(([^()]*)\)`)
	// An array or tensor as Python prints it: array([0.5, 1.5], dtype=float32).
	printed = regexp.MustCompile(`^(?:np\.|numpy\.)?(?:array|tensor)\(\s*(\[[^\]]*\])\s*(?:,[^\]]*)?\)$`)
)

// errShortened is about a list of which a program has written only the first and last numbers.
var errShortened = errors.New(`NumPy has shortened the list with "...": its numbers are lost: write them with x.tolist() or as Parquet`)

// ParseList reads a list of features from text: numbers between spaces, semicolons or commas, with or without
// brackets around them, also as Python prints arrays and tensors.
func ParseList(text string) (list []float64, err error) {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "...") || strings.Contains(text, "…") {
		return nil, fmt.Errorf("%.40q: %w", text, errShortened)
	}
	if strings.Contains(text, "np.") {
		text = numpyScalar.ReplaceAllString(text, "$1")
	}
	if inner := printed.FindStringSubmatch(text); inner != nil {
		text = inner[1]
	}
	for open, end := range map[string]string{"[": "]", "(": ")"} {
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
		return nil, fmt.Errorf("the list %.40q has commas and semicolons: write a point before the fraction of a number", text)
	}
	place := 0
	for field := range strings.FieldsFuncSeq(text, betweenNumbers) {
		v, err := parseNumber(field, false)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", place, err)
		}
		list = append(list, v)
		place++
	}
	return list, nil
}

func betweenNumbers(r rune) bool { return strings.ContainsRune(" \t\r\n;,", r) }

// listLike reports whether a text that is no list of numbers was one for the program that wrote it: it begins with a
// bracket and a number, or was shortened between numbers.
func listLike(text string) bool {
	text = numpyScalar.ReplaceAllString(text, "$1")
	bare := strings.TrimLeft(text, "[( \t\n")
	if bare == text && !strings.HasPrefix(text, "array(") && !strings.HasPrefix(text, "tensor(") && !strings.Contains(text, "...") {
		return false
	}
	fields := strings.FieldsFunc(strings.TrimLeft(strings.TrimLeft(bare, "arytenso"), "[( "), func(r rune) bool {
		return betweenNumbers(r) || r == ']' || r == ')'
	})
	if len(fields) < 2 {
		return false
	}
	_, err := parseNumber(fields[0], false)
	return err == nil || missingWords[fields[0]]
}
