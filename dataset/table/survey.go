package table

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rivulet/dataset/literal"
	"rivulet/schema"
)

// The forms in which text can be read, in the order in which they are tried.
const (
	asNumber = iota
	asCommas // a number with a decimal comma
	asBool
	asTime
	asDate // a date whose form does not say which part is the month
	asList
	asBare   // a list of numbers without brackets
	asBroken // a list of numbers that cannot be read
	asText
	forms
)

var formNames = [forms]string{"a number", "a number with a decimal comma", "true or false", "a date or time",
	"a date in another form", "a list of numbers", "a list of numbers without brackets", "a list of numbers", "text"}

// survey sums up a column's values before they are kept.
type survey struct {
	name        string
	rows        int
	nulls       int            // missing values
	words       map[string]int // the texts among them
	verbatim    bool           // these texts are values
	kinds       [Names + 1]int
	forms       [forms]int
	first       [forms]sighting // the first value of each form
	floats      int             // numbers that are written as floats
	fractions   int             // numbers that are no integers
	infinite    *sighting       // the first one
	zones       int             // times with a zone
	distinct    map[string]int  // of text and numbers, as long as they are few
	categorical bool            // the file says so
	sample      []string        // the first values
	width       int             // of the first list without brackets
	trend       Trend           // of numbers
	bytes       bool            // some text is not UTF-8
	ragged      *sighting       // the first list without brackets of another length
	broken      error           // why the first list that cannot be read cannot be
}

type sighting struct {
	at   Place
	text string
}

// fewDistinct bounds the values that a survey keeps.
const fewDistinct = 1 << 10

// see takes one value. commas says that the file writes decimal commas.
func (s *survey) see(c *Cell, at Place, commas bool) {
	s.rows++
	switch c.Kind {
	case Null:
		s.nulls++
		return
	case Text:
		if literal.Missing(c.Text) {
			s.missing(c.Text)
			return
		}
		s.count(c.Text)
	case Int:
		s.count(c.String())
		s.trend.See(float64(c.Int))
	case Float:
		s.float(c.Float, at)
		if math.IsNaN(c.Float) {
			return
		}
	case Raw:
		s.raw(strings.TrimSpace(c.Text), at, commas)
		return
	}
	s.kinds[c.Kind]++
	s.keepSample(c.String())
}

// keepSample keeps the first values, which are shown to people.
func (s *survey) keepSample(text string) {
	if len(s.sample) < 3 {
		s.sample = append(s.sample, strings.Clone(text))
	}
}

// missing counts a text that stands for a missing value.
func (s *survey) missing(text string) {
	s.nulls++
	if text = strings.TrimSpace(text); text != "" {
		if s.words == nil {
			s.words = map[string]int{}
		}
		s.words[strings.Clone(text)]++
	}
}

// classes takes the column for one of classes. Texts such as none are classes where one class would be left without
// them, as of fraud and none.
func (s *survey) classes() {
	if len(s.distinct) != 1 || s.verbatim {
		return
	}
	for text, n := range s.words {
		if !literal.MaybeMissing(text) {
			continue
		}
		s.verbatim = true
		s.distinct[text] = n
		s.nulls -= n
		if s.kinds[Text] > 0 {
			s.kinds[Text] += n
			continue
		}
		s.kinds[Raw] += n
		s.forms[asText] += n
	}
}

// absent says which texts of a column of labels are read as none; empty: there are none but empty cells.
func (s *survey) absent() string {
	var said []string
	for _, text := range slices.Sorted(maps.Keys(s.words)) {
		if !s.verbatim || !literal.MaybeMissing(text) {
			said = append(said, fmt.Sprintf("%q (%d nodes)", text, s.words[text]))
		}
	}
	if said == nil {
		return ""
	}
	return strings.Join(said, ", ") + " is read as no label"
}

func (s *survey) count(text string) {
	if len(s.distinct) < fewDistinct {
		if s.distinct == nil {
			s.distinct = map[string]int{}
		}
		if _, known := s.distinct[text]; !known {
			text = strings.Clone(text)
		}
		s.distinct[text]++
	}
}

func (s *survey) float(v float64, at Place) {
	switch {
	case math.IsNaN(v):
		s.nulls++
		return
	case math.IsInf(v, 0):
		if s.infinite == nil {
			s.infinite = &sighting{at, strconv.FormatFloat(v, 'g', -1, 64)}
		}
	case v != math.Trunc(v):
		s.fractions++
	}
	s.floats++
	s.trend.See(v)
}

func (s *survey) raw(text string, at Place, commas bool) {
	if literal.Missing(text) {
		s.missing(text)
		return
	}
	s.kinds[Raw]++
	s.bytes = s.bytes || !utf8.ValidString(text)
	s.count(text)
	s.keepSample(text)
	form := s.form(text, at, commas)
	if form == asText {
		form = s.unquoted(text, at)
	}
	if s.forms[form]++; s.forms[form] == 1 {
		s.first[form] = sighting{at, strings.Clone(text)}
	}
}

var (
	decimalComma  = regexp.MustCompile(`^[+-]?\d{1,3}([. ]?\d{3})*,\d+$|^[+-]?\d*,\d+$`)
	ambiguousDate = regexp.MustCompile(`^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([ T].*)?$`)
)

func (s *survey) form(text string, at Place, commas bool) int {
	if v, err := literal.Number(text, commas); err == nil {
		s.float(v, at)
		if strings.Trim(text, "+-0123456789") == "" {
			s.floats--
		}
		return asNumber
	}
	switch first := text[0]; {
	case strings.EqualFold(text, "true") || strings.EqualFold(text, "false"):
		return asBool
	case literal.Opening.MatchString(text):
		if _, err := literal.List(text); err == nil {
			return asList
		}
	case strings.HasPrefix(strings.ToLower(strings.TrimLeft(text, "+-")), "inf"):
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			s.float(v, at)
			return asNumber
		}
	case first >= '0' && first <= '9' || first == '-' || first == '+' || first == ',':
		if _, zoned, err := literal.Time(text); err == nil {
			if zoned {
				s.zones++
			}
			return asTime
		}
		if ambiguousDate.MatchString(text) {
			return asDate
		}
		if decimalComma.MatchString(text) {
			return asCommas
		}
	}
	return asText
}

// unquoted returns the form of a text that may be a list of numbers in another way than in brackets.
func (s *survey) unquoted(text string, at Place) int {
	x, err := literal.List(text)
	if literal.Thousands.MatchString(text) {
		err = literal.ErrThousands
	}
	switch {
	case err == nil && len(x) > 1:
		if s.width == 0 {
			s.width = len(x)
		}
		if len(x) != s.width && s.ragged == nil {
			s.ragged = &sighting{at, strings.Clone(text)}
		}
		return asBare
	case err != nil && (err == literal.ErrThousands || literal.ListLike(text)): //nolint:errorlint // it is not wrapped
		if s.broken == nil {
			s.broken = err
		}
		return asBroken
	}
	return asText
}

// errNoValues says that a column has no value at all.
var errNoValues = errors.New("it has no value")

// columnType returns the type of a column's values: the file's, or one that all of them can be read as. Text in a
// column of mostly numbers, times or the like is an error, and so are numbers with decimal commas and dates that can be
// read in two ways.
func (s *survey) columnType() (schema.ValueType, error) {
	for kind, of := range map[CellKind]schema.ValueType{Text: schema.Text, Int: schema.Number, Float: schema.Number,
		Bool: schema.Bool, Time: schema.Time, List: schema.Vector} {
		if s.kinds[kind] > 0 {
			return of, s.finite(of)
		}
	}
	known := s.kinds[Raw]
	if s.kinds[Names] > 0 {
		return schema.Missing, fmt.Errorf("column %s: a list of texts is not a number: drop the column", s.name)
	}
	if known == 0 {
		return schema.Missing, errNoValues
	}
	if lists := s.forms[asList] + s.forms[asBare]; lists == known && s.ragged == nil {
		return schema.Vector, nil
	}
	for form, of := range map[int]schema.ValueType{asNumber: schema.Number, asBool: schema.Bool, asTime: schema.Time} {
		if s.forms[form] == known {
			return of, s.finite(of)
		}
	}
	return schema.Text, s.mixed(known)
}

func (s *survey) finite(t schema.ValueType) error {
	if t == schema.Number && s.infinite != nil {
		return fmt.Errorf("%s: column %s: %s is not a finite number", s.infinite.at, s.name, s.infinite.text)
	}
	return nil
}

// mixed returns an error unless values of several forms are text.
func (s *survey) mixed(known int) error {
	if all := s.forms[asCommas] + s.forms[asNumber]; s.forms[asCommas] > 0 && all == known {
		f := s.first[asCommas]
		return fmt.Errorf(
			"%s: column %s: %.40q is a number with a decimal comma: say that commas divide fractions (decimal), "+
				"or that the column is text (types)", f.at, s.name, f.text)
	}
	if 2*s.forms[asDate] >= known {
		f := s.first[asDate]
		return fmt.Errorf(
			"%s: column %s: %.40q can be read as several dates: write dates as 2026-11-21, or say that the column "+
				"is text (types)", f.at, s.name, f.text)
	}
	if s.broken != nil &&
		(2*(s.forms[asBroken]+s.forms[asList]+s.forms[asBare]) >= known || errors.Is(s.broken, literal.ErrShortened)) {
		f := s.first[asBroken]
		return fmt.Errorf(
			"%s: column %s: it was a list of numbers, and cannot be read: %w; or say that the column is text (types)", f.at,
			s.name, s.broken)
	}
	if s.ragged != nil && s.forms[asBare]+s.forms[asList] == known {
		return fmt.Errorf("%s: column %s: %.40q is not a list of %d numbers, as the column's first value is: "+
			"write lists of one length, or say that the column is text (types)", s.ragged.at, s.name, s.ragged.text, s.width)
	}
	for _, form := range []int{asNumber, asBool, asTime, asList, asBare} {
		if 2*s.forms[form] < known {
			continue
		}
		odd := s.odd(form)
		return fmt.Errorf(
			"%s: column %s: %.40q is not %s, though %d of the column's %d values are: correct it, leave it empty, "+
				"or say that the column is text (types)", odd.at, s.name, odd.text, formNames[form], s.forms[form], known)
	}
	return nil
}

// odd returns the first value that is not of a form.
func (s *survey) odd(form int) sighting {
	var odd sighting
	for other := range forms {
		if f := s.first[other]; other != form && s.forms[other] > 0 &&
			(odd.text == "" || f.at.Row < odd.at.Row && f.at.File == odd.at.File) {
			odd = f
		}
	}
	return odd
}

// integersAsFloats reports whether the column's values are names that some program has read as floats: numbers without
// fractions, partly written as 17.0 or 1e+05.
func (s *survey) integersAsFloats() bool { return s.kinds[Raw] > 0 && s.numeric() && s.floats > 0 }

// numeric reports whether all values are numbers that may be names: integers, or floats without a fraction.
func (s *survey) numeric() bool {
	return s.kinds[Text] == 0 && s.forms[asNumber] == s.kinds[Raw] && s.fractions == 0 && s.infinite == nil
}

// names returns the function that reads the column's values as names of nodes, classes or roles; optional says that
// they may be missing.
func (s *survey) names(optional bool) func(*Cell) (string, error) {
	switch {
	case s.verbatim:
		return func(c *Cell) (string, error) {
			if c.missing() && !literal.MaybeMissing(c.Text) {
				return "", nil
			}
			text, err := c.text()
			return strings.TrimSpace(text), err
		}
	case s.integersAsFloats():
		return integer
	case s.kinds[Raw] > 0 && s.forms[asBool] == s.kinds[Raw]:
		return func(c *Cell) (string, error) {
			text := strings.TrimSpace(c.Text)
			if literal.Missing(text) {
				return "", nil
			}
			return strings.ToLower(text), nil
		}
	}
	return func(c *Cell) (string, error) { return asWritten(c, optional) }
}

// asWritten returns a name as it is written; optional says that it may be missing.
func asWritten(c *Cell, optional bool) (string, error) {
	if (optional || c.Kind == Null) && c.missing() {
		return "", nil
	}
	return c.text()
}

// An integer of 12 digits or more as a spreadsheet shows it: 1.23457E+11.
var shortenedInteger = regexp.MustCompile(`^[+-]?\d\.(\d{2,})[eE]\+?(?:1[1-9]|[2-9]\d)$`)

// integer returns a name that is an integer, also one that a program has read as a float.
func integer(c *Cell) (string, error) {
	if c.Kind != Raw {
		return asWritten(c, true)
	}
	text := strings.TrimSpace(c.Text)
	if strings.Trim(text, "+-0123456789") == "" {
		return c.text()
	}
	if literal.Missing(text) {
		return "", nil
	}
	if lost := shortenedInteger.FindStringSubmatch(text); lost != nil && len(lost[1]) < 10 {
		return "", fmt.Errorf(
			"%.40q has lost digits: a program has written an integer of many digits with %d of them; read it as text "+
				"(dtype=str)",
			text,
			len(lost[1])+1,
		)
	}
	v, err := literal.Number(text, false)
	if err != nil { // the id of no node
		return c.text()
	}
	return decimal(v)
}
