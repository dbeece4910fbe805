package csv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rivulet/dataset/literal"
	"rivulet/dataset/table"
)

// layout is the form of a file of text: what stands between cells, and whether its first line has names of columns.
type layout struct {
	comma   rune   // between cells, as encoding/csv reads them; 0: between
	between string // "::", or blanks: any number of spaces and tabs
	comment rune   // lines that begin with it are comments: # or %; 0: there are none
	keys    []string
	names   []string // of the columns; nil: the first line has them
	open    string   // what is open about the first line; empty: nothing
}

const blanks = " "

// dictionary matches the attributes of an edge as NetworkX writes them behind its ends: {'weight': 0.5}, or {}.
var dictionary = regexp.MustCompile(`[\s,;|]\{(\}|\s*['"][^{]*\})\s*$`)

// attribute matches a name and its value in such a dictionary.
var attribute = regexp.MustCompile(`['"]([^'"]+)['"]\s*:\s*(?:'([^']*)'|"([^"]*)"|([^,'"}\s]+))`)

// look finds the layout of a file by its first lines. said is the setting header of the file, first or none; empty: the
// settings do not say whether it has a line of names.
func (r *recordReader) look(file, separatorSaid, said string) (l layout, err error) {
	lines, mark, comment := r.head()
	l.comment = mark
	if len(lines) == 0 {
		return layout{comma: ','}, nil
	}
	bases := lines
	if cut := dictionary.FindStringIndex(lines[0]); cut != nil && !strings.ContainsRune(lines[0], '"') {
		l.keys = keys(lines)
		bases = make([]string, len(lines))
		for i, line := range lines {
			bases[i], _ = cutDictionary(line)
		}
	}
	if l.comma, l.between, err = separator(bases, separatorSaid); err != nil {
		return l, err
	}
	if l.keys != nil && l.between == "" {
		l.between = string(l.comma)
	}
	rows := l.rows(bases)
	if len(rows) == 0 {
		return l, nil
	}
	first := rows[0]
	if said == "first" {
		return l, nil
	}
	commented := strings.FieldsFunc(comment, func(r rune) bool { return r == l.comma || r == '\t' || r == ' ' })
	if len(commented) == len(first) && !slices.ContainsFunc(commented, isNumber) {
		l.names = commented
		return l, nil
	}
	bare, open := said == "none", ""
	if !bare {
		bare, open = nameless(rows, l.comma == ',')
	}
	switch {
	case !bare:
		l.open = open
	case said == "none" && l.keys == nil:
		l.names = numbered(len(first))
	default:
		l.names = columnsOf(first, l.keys)
	}
	return l, nil
}

// columnsOf returns names for the columns of a file without a line of names. An edge list has source, target and
// perhaps weight; other columns have numbers from 0, as in pandas.
func columnsOf(first, keys []string) []string {
	numeric := !slices.ContainsFunc(first, func(cell string) bool { return !isNumber(cell) && cell != "{}" })
	ends := len(first) >= 2 && isInteger(first[0]) && isInteger(first[1])
	const most = 4 // ends, weight and time
	switch {
	case keys != nil && len(first) >= 2:
		return slices.Concat([]string{"source", "target"}, numbered(len(first))[2:], keys)
	case len(first) == 2 && (ends || !numeric), ends && numeric && len(first) <= most,
		len(first) == 3 && !isNumber(first[0]) && !isNumber(first[1]) && isNumber(first[2]):
		return []string{"source", "target", "weight", "column 4"}[:len(first)]
	}
	return numbered(len(first))
}

func numbered(n int) []string {
	names := make([]string, n)
	for k := range names {
		names[k] = strconv.Itoa(k)
	}
	return names
}

// nameless reports whether the first row of a table is no line of names. open says why a person should be asked: the
// rows do not tell.
func nameless(rows [][]string, comma bool) (is bool, open string) {
	first, rest := rows[0], rows[1:]
	values, rising, last := 0, 0, 0 // cells of the first row that are values; that count on from the one before
	for k, cell := range first {
		cell = strings.TrimSpace(cell)
		if cell == "" {
			continue
		}
		if !isValue(cell) {
			if column := below(rest, k); len(column) > 0 && !slices.ContainsFunc(column,
				func(c string) bool { return !isValue(c) }) &&
				!literal.Missing(cell) {
				return false, "" // a name over numbers or dates
			}
			if table.KnownName(cell) {
				return false, ""
			}
			continue
		}
		v, err := strconv.Atoi(cell)
		if err == nil && values > 0 && v == last+1 {
			rising++
		}
		values, last = values+1, v
	}
	switch {
	case values == len(first) && comma && rising == values-1 &&
		first[0] == "0": // as pandas names columns 0, 1, … without names
		return false, "its first line " + strings.Join(first, ",") + " has names, or is a row"
	case values > 1 && values < len(first) && rising == values-1: // features that are named 0, 1, …
		return false, ""
	case values > 0:
		return true, ""
	case len(rest) == 0:
		return false, ""
	}
	for k, cell := range first { // names of columns do not stand in the rows
		for _, row := range rest {
			if cell != "" && k < len(row) && (row[k] == cell || k < 2 && len(row) > 1 && row[1-k] == cell) {
				return true, ""
			}
		}
	}
	for k := range first {
		if slices.ContainsFunc(below(rest, k), isValue) {
			return false, ""
		}
	}
	return false, "its first line " + strings.Join(first[:min(len(first), 6)], ", ") + " has names, or is a row"
}

// below returns the cells of a column that are not missing.
func below(rows [][]string, k int) (column []string) {
	for _, row := range rows {
		if k < len(row) && !literal.Missing(row[k]) {
			column = append(column, strings.TrimSpace(row[k]))
		}
	}
	return column
}

// isValue reports whether a text is a number, a date, or a mark of a missing value that is no name.
func isValue(text string) bool {
	if isNumber(text) || text == `\N` {
		return true
	}
	_, _, err := literal.Time(text)
	return err == nil
}

func isNumber(text string) bool {
	_, err := literal.Number(strings.TrimSpace(text), false)
	return err == nil
}

func isInteger(text string) bool {
	_, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return err == nil
}

// head returns the first lines that are no comments, without consuming them, and the last comment before the first.
// Comments are lines that begin with a mark: #, as in the edge lists of SNAP and NetworkX, where the last one may have
// the names of columns, or %, as in KONECT's, where none has. A line that the buffer cuts is left out.
func (r *recordReader) head() (lines []string, mark rune, comment string) {
	text, err := r.src.Peek(1 << 16) // the shorter text of a file that ends, too
	for len(text) > 0 {
		own, rest, more := bytes.Cut(text, []byte("\n"))
		if !more && err == nil && len(lines) > 0 {
			break
		}
		text = rest
		line := strings.TrimSuffix(string(own), "\r")
		switch {
		case strings.HasPrefix(line, "#") && lines == nil && more && mark != '%':
			mark, comment = '#', strings.TrimSpace(strings.TrimLeft(line, "#"))
		case strings.HasPrefix(line, "%") && lines == nil && more && mark != '#':
			mark = '%'
		case mark != 0 && strings.HasPrefix(line, string(mark)) || line == "":
		default:
			lines = append(lines, line)
		}
	}
	return lines, mark, comment
}

// separator returns the text between cells: the separator of the settings, else the most frequent mark of the first
// line, else blanks.
func separator(lines []string, said string) (comma rune, between string, err error) {
	switch {
	case said == "":
	case said == "tab" || said == `\t`:
		return '\t', "", nil
	case said == "blanks":
		return 0, blanks, nil
	case len(said) == 1 && !strings.ContainsAny(said, "\"\r\n"):
		return rune(said[0]), "", nil
	case len(said) == 2 && said[0] == said[1] && !strings.ContainsAny(said, "\"\r\n"):
		return 0, said, nil
	default:
		return 0, "", fmt.Errorf("separator is %.40q, want one character such as ; or tab, one twice such as ::, or blanks",
			said)
	}
	first := lines[0]
	if n := strings.Count(first, "::"); n > 0 && !slices.ContainsFunc(lines, func(line string) bool {
		return strings.Count(line, "::") != n
	}) {
		return 0, "::", nil
	}
	found, count := ',', 0
	for _, mark := range ",;\t|" {
		if n := strings.Count(first, string(mark)); n > count {
			found, count = mark, n
		}
	}
	if count == 0 && strings.Contains(strings.TrimSpace(first), " ") ||
		found == '\t' && slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(line, "\t") }) {
		return 0, blanks, nil
	}
	return found, "", nil
}

// rows divides lines into cells. A line that cannot be read ends them.
func (l *layout) rows(lines []string) (rows [][]string) {
	if l.between != "" {
		for _, line := range lines {
			rows = append(rows, divide(line, l.between))
		}
		return rows
	}
	in := csv.NewReader(strings.NewReader(strings.Join(lines, "\n")))
	in.Comma, in.FieldsPerRecord = l.comma, -1
	for {
		row, err := in.Read()
		if err != nil {
			return rows
		}
		rows = append(rows, row)
	}
}

// divide returns the cells of a line between marks of two characters, or between blanks. Between blanks a cell may be
// in quotes.
func divide(line, between string) (cells []string) {
	if between != blanks {
		return strings.Split(line, between)
	}
	if !strings.ContainsRune(line, '"') {
		return strings.Fields(line)
	}
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " \t") {
		end := strings.IndexAny(line, " \t")
		if line[0] == '"' {
			if end := strings.IndexByte(line[1:], '"'); end >= 0 {
				cells, line = append(cells, line[1:1+end]), line[2+end:]
				continue
			}
		}
		if end < 0 {
			return append(cells, line)
		}
		cells, line = append(cells, line[:end]), line[end:]
	}
	return cells
}

// cutDictionary divides a line into its cells and the attributes behind them.
func cutDictionary(line string) (base, attributes string) {
	cut := dictionary.FindStringIndex(line)
	if cut == nil {
		return line, ""
	}
	return line[:cut[0]], line[cut[0]+1:]
}

// keys returns the names of the attributes behind edges, in the order in which they are met. They are not nil.
func keys(lines []string) []string {
	found := []string{}
	for _, line := range lines {
		_, attributes := cutDictionary(line)
		for _, of := range attribute.FindAllStringSubmatch(attributes, -1) {
			if !slices.Contains(found, of[1]) {
				found = append(found, of[1])
			}
		}
	}
	return found
}

// lineReader reads rows that encoding/csv does not: between blanks or marks of two characters, or with attributes
// behind.
type lineReader struct {
	src  *bufio.Reader
	form *layout
	line int
	want int // cells of a row
}

// Read returns the cells of the next row, and its line.
func (r *lineReader) Read() ([]string, int, error) {
	for {
		line, err := r.src.ReadString('\n')
		if line == "" && err != nil {
			return nil, r.line, err
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, r.line, err
		}
		r.line++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || r.form.comment != 0 && strings.HasPrefix(line, string(r.form.comment)) {
			continue
		}
		attributes := ""
		if r.form.keys != nil {
			line, attributes = cutDictionary(line)
		}
		cells := divide(line, r.form.between)
		if r.want == 0 {
			r.want = len(cells)
		}
		if len(cells) != r.want {
			return nil, r.line, fmt.Errorf("line %d: it has %d cells, want %d as in the first line", r.line, len(cells), r.want)
		}
		if r.form.keys == nil {
			return cells, r.line, nil
		}
		own := make([]string, len(r.form.keys))
		for _, of := range attribute.FindAllStringSubmatch(attributes, -1) {
			k := slices.Index(r.form.keys, of[1])
			if k < 0 {
				return nil, r.line, fmt.Errorf("line %d: attribute %.40q is not among those of the first lines, %q", r.line, of[1],
					r.form.keys)
			}
			own[k] = of[2] + of[3] + of[4]
		}
		return append(cells, own...), r.line, nil
	}
}
