package spark

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"rivulet/trainer/stage"
)

// metadata is the column in which Spark names a row's file. No column of a user may have this name.
const metadata = "_metadata"

// mark is the hash of a row's file: of its path, size and time of modification.
const mark = "xxhash64(_metadata.file_path, _metadata.file_size, _metadata.file_modification_time)"

// table is a user's table, as [column] a column.
func table(path string) string { return "IDENTIFIER(" + literal(parquet(path)) + ")" }

// schemaOf is a relation of one row of a table's columns, which are null, also if the table has no rows.
func schemaOf(path string) string { return "(SELECT 1) LEFT JOIN " + table(path) + " t ON false" }

// namesOf is a query for the names of the columns of tables: JSON behind the table's number.
func namesOf(paths []string) string {
	parts := make([]string, len(paths))
	for k, path := range paths {
		parts[k] = fmt.Sprintf("SELECT concat('%d ', to_json(struct(t.*), map('ignoreNullFields', 'false'))) AS s FROM %s", k,
			schemaOf(path))
	}
	return strings.Join(parts, "\nUNION ALL ")
}

// detailsOf is a query for the types of the columns of tables, as JSON, and their files: mark, rows and path.
func detailsOf(tables []*stage.InPlace) string {
	var parts []string
	for k, t := range tables {
		types := make([]string, len(t.Columns))
		for c := range types {
			types[c] = "typeof(" + column(t.Columns[c].Name) + ")"
		}
		parts = append(parts,
			fmt.Sprintf("SELECT concat('%d types ', to_json(array(%s))) AS s FROM %s", k, strings.Join(types, ", "),
				schemaOf(t.Path)),
			fmt.Sprintf("SELECT concat_ws(' ', '%d', 'file', CAST(m AS STRING), CAST(count(*) AS STRING), base64(CAST(f AS "+
				"BINARY))) AS s FROM (SELECT _metadata.file_path AS f, %s AS m FROM %s) GROUP BY f, m", k, mark, table(t.Path)))
	}
	return strings.Join(parts, "\nUNION ALL ")
}

// Look implements [stage.Looker].
func (e *Engine) Look(ctx context.Context, paths ...string) ([]*stage.InPlace, error) {
	tables := make([]*stage.InPlace, len(paths))
	for k, path := range paths {
		if err := checkPath(path); err != nil {
			return nil, fmt.Errorf("table %s: %w", path, err)
		}
		tables[k] = &stage.InPlace{Path: path}
	}
	rows, err := e.ask(ctx, namesOf(paths))
	if err != nil {
		return nil, lookError(err)
	}
	if err := eachTable(tables, rows, setNames); err != nil {
		return nil, err
	}
	if rows, err = e.ask(ctx, detailsOf(tables)); err != nil {
		return nil, lookError(err)
	}
	err = eachTable(tables, rows, func(t *stage.InPlace, text string) error {
		if types, ok := strings.CutPrefix(text, "types "); ok {
			return setTypes(t, types)
		}
		return addFile(t, strings.TrimPrefix(text, "file "))
	})
	for _, t := range tables {
		slices.SortFunc(t.Files, func(a, b stage.File) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Mark, b.Mark))
		})
		for k := range t.Files {
			t.Files[k].Name = fileName(t.Files[k].Name)
		}
	}
	return tables, err
}

// fileName is the name of a file of a URL, for errors.
func fileName(address string) string {
	name := path.Base(address)
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

func lookError(err error) error { return fmt.Errorf("looking at the tables: %w", words(err)) }

// eachTable calls use with the rows of an answer, each behind the number of its table.
func eachTable(tables []*stage.InPlace, rows []string, use func(t *stage.InPlace, text string) error) error {
	for _, row := range rows {
		number, text, _ := strings.Cut(row, " ")
		k, err := strconv.Atoi(number)
		if err != nil || k < 0 || k >= len(tables) {
			return fmt.Errorf("an answer of Spark about no table: %.100q", row)
		}
		if err := use(tables[k], text); err != nil {
			return fmt.Errorf("table %s: %w", tables[k].Path, err)
		}
	}
	return nil
}

// setNames reads the keys of a JSON object in their order.
func setNames(t *stage.InPlace, text string) error {
	in := json.NewDecoder(strings.NewReader(text))
	if _, err := in.Token(); err != nil { // the brace
		return fmt.Errorf("names of its columns: %w", err)
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return fmt.Errorf("names of its columns: %w", err)
		}
		var null any
		if err := in.Decode(&null); err != nil {
			return fmt.Errorf("names of its columns: %w", err)
		}
		c := stage.Column{Name: fmt.Sprint(name)}
		if err := checkText(c.Name); err != nil {
			return fmt.Errorf("name of a column: %w", err)
		}
		if c.Name == metadata {
			return fmt.Errorf("a column is called %s, as Spark calls its own of files: rename it", metadata)
		}
		t.Columns = append(t.Columns, c)
	}
	return nil
}

func setTypes(t *stage.InPlace, text string) error {
	var types []string
	if err := json.Unmarshal([]byte(text), &types); err != nil || len(types) != len(t.Columns) {
		return fmt.Errorf("%d types of %d columns: %w", len(types), len(t.Columns), err)
	}
	for c := range types {
		t.Columns[c].Type = types[c]
	}
	return nil
}

// addFile reads mark, rows and path.
func addFile(t *stage.InPlace, text string) error {
	fields := strings.Split(text, " ")
	if len(fields) != 3 {
		return fmt.Errorf("a file of %d fields, want 3", len(fields))
	}
	id, err1 := strconv.ParseInt(fields[0], 10, 64)
	rows, err2 := strconv.ParseInt(fields[1], 10, 64)
	name, err3 := base64.StdEncoding.DecodeString(fields[2])
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return fmt.Errorf("a file: %w", err)
		}
	}
	t.Files = append(t.Files, stage.File{Mark: id, Name: string(name), Rows: rows})
	return nil
}

// Length implements [stage.Looker].
func (e *Engine) Length(ctx context.Context, t *stage.InPlace, index int) (int, error) {
	c := t.Columns[index]
	if !strings.HasPrefix(c.Type, "array<") {
		return 0, fmt.Errorf("table %s: column %s: its type is %s, want a list of numbers", t.Path, c.Name, c.Type)
	}
	rows, err := e.ask(ctx, fmt.Sprintf(
		"SELECT CAST(n AS STRING) AS s FROM (SELECT size(%s) AS n FROM %s WHERE %s IS NOT NULL LIMIT 1)",
		column(c.Name), table(t.Path), column(c.Name)))
	if err != nil {
		return 0, lookError(err)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	return strconv.Atoi(rows[0])
}

// cell is the text of a column's value, never null, as [stage.Looker] says.
func cell(c stage.Column) (string, error) {
	name := column(c.Name)
	with := func(letter byte, text string) (string, error) {
		return fmt.Sprintf("coalesce(concat('%c', %s), '')", letter, text), nil
	}
	asText := "CAST(" + name + " AS STRING)"
	list := "array_join(CAST(" + name + " AS ARRAY<STRING>), ',', '" + stage.CellNull + "')"
	kind, arguments, _ := strings.Cut(strings.TrimSuffix(c.Type, ")"), "(")
	switch kind {
	case "string", "varchar", "char", "binary":
		return with(stage.CellText, "base64(CAST("+name+" AS BINARY))")
	case "tinyint", "smallint", "int", "bigint":
		return with(stage.CellInteger, asText)
	case "float":
		return with(stage.CellFloat, asText)
	case "double":
		return with(stage.CellDouble, asText)
	case "boolean":
		return with(stage.CellBool, "CAST(CAST("+name+" AS INT) AS STRING)")
	case "decimal":
		return decimal(c, name, arguments, with)
	case "array<tinyint>", "array<smallint>", "array<int>", "array<bigint>":
		return with(stage.CellIntegers, list)
	case "array<float>":
		return with(stage.CellFloats, list)
	case "array<double>":
		return with(stage.CellDoubles, list)
	}
	return "", fmt.Errorf("column %s: its type is %s, want text, a number, a bool or a list of numbers: drop it "+
		"(--drop), or write it as one",
		c.Name, c.Type)
}

// decimal is the cell of a decimal: the digits of its fraction, and the integer of all digits.
func decimal(c stage.Column, name, arguments string, with func(letter byte, text string) (string, error)) (string,
	error) {
	const most = 18 // digits that a BIGINT has room for
	precision, scale := 0, 0
	if n, err := fmt.Sscanf(arguments, "%d,%d", &precision, &scale); n != 2 || err != nil || scale < 0 ||
		scale > precision || precision > most {
		return "", fmt.Errorf("column %s: its type is %s, want a decimal of at most %d digits: write it as a float", c.Name,
			c.Type, most)
	}
	return with(stage.CellDecimal, fmt.Sprintf("'%d:', CAST(CAST(%s * 1%sBD AS BIGINT) AS STRING)", scale, name,
		strings.Repeat("0", scale)))
}

// rowsInPlace is a relation of the rows of a table in place, each the payload of a record.
func rowsInPlace(t *stage.InPlace) (string, error) {
	fields := []string{"CAST(" + mark + " AS STRING)", "CAST(_metadata.row_index AS STRING)"}
	for _, c := range t.Columns {
		field, err := cell(c)
		if err != nil {
			return "", err
		}
		fields = append(fields, field)
	}
	return "SELECT CAST(0 AS BIGINT) AS k, 0 AS g, X'' AS o, CAST(concat_ws(char(9), " + strings.Join(fields, ", ") +
		") AS BINARY) AS p FROM " + table(t.Path), nil
}

// scanInPlace runs a stage over a table in place: nothing of it is sent.
func (e *Engine) scanInPlace(ctx context.Context, s stage.Spec, from stage.Source) ([]stage.Table, error) {
	return e.once(ctx, s, []string{from.Identity}, from.InPlace.Rows(), func(context.Context) (task, error) {
		rows, err := rowsInPlace(from.InPlace)
		return task{columns: recordColumns, from: rows, job: jobOf(s)}, err
	})
}
