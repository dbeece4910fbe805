package spark

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// literal is a string of SQL. Spark reads backslashes in it as escapes, as settings makes sure.
func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// identifier is the name of a column or a path of SQL.
func identifier(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

// column is a user's column. An identifier in a string of SQL is safe where one in backquotes is not: spark-sql looks
// for the ends of statements and comments between backquotes, too.
func column(name string) string { return "IDENTIFIER(" + literal(identifier(name)) + ")" }

// checkText returns an error for text that no statement should have: it names nothing, and shows badly in logs.
func checkText(s string) error {
	if s == "" {
		return fmt.Errorf("it is empty")
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%q is not UTF-8", s)
	}
	if at := strings.IndexFunc(s, unicode.IsControl); at >= 0 {
		return fmt.Errorf("%q has a control character", s)
	}
	return nil
}

// checkPath returns an error for a path that Spark would read as a pattern.
func checkPath(dir string) error {
	if err := checkText(dir); err != nil {
		return err
	}
	if strings.ContainsAny(dir, "*?[]{}\\;,") {
		return fmt.Errorf("%q has one of *?[]{}\\;, and commas, which Spark does not take as they are", dir)
	}
	return nil
}

// settings are the settings that statements rely on. The number of partitions of a shuffle is the run's.
func settings(partitions int) []string {
	return []string{
		"SET spark.sql.variable.substitute=false", // first: ${…} in a path stays as it is
		"SET spark.sql.parser.escapedStringLiterals=false",
		"SET spark.sql.caseSensitive=true", // columns x and X of a user are two
		"SET spark.sql.chunkBase64String.enabled=false",
		"SET spark.sql.adaptive.coalescePartitions.enabled=false",
		"SET spark.sql.parquet.columnarReaderBatchSize=64", // cells of megabytes
		fmt.Sprintf("SET spark.sql.shuffle.partitions=%d", partitions),
	}
}

// lines is the form of rows on both sides of a worker. It is stated always: Spark's own differs with and without Hive.
const lines = `ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t'`

// fileOptions are the options for written files. Parquet measures the rows that it holds once in 100 rows, and writes
// pages of 128 MB: with rows of a megabyte and more that is several times too much for an executor of 1 GB.
const fileOptions = "compression 'snappy', `parquet.block.size` '33554432', `parquet.page.size.row.check.min` '1', " +
	"`parquet.page.size.check.estimate` 'false', `parquet.enable.dictionary` 'false'"

// overwrite is a statement that writes rows to a directory.
func overwrite(dir, rows string) string {
	return "INSERT OVERWRITE DIRECTORY " + literal(dir) + " USING parquet OPTIONS (" + fileOptions + ")\n" + rows
}

// transform passes columns of a relation through a command and gives rows of a stage.
func transform(columns, command, from string) string {
	return "SELECT CAST(t AS INT) AS t, CAST(k AS BIGINT) AS k, unbase64(o) AS o, unbase64(p) AS p FROM (\n" +
		"SELECT TRANSFORM(" + columns + ") " + lines + "\nUSING " + literal(command) +
		"\nAS (t STRING, k STRING, o STRING, p STRING) " + lines + "\nFROM (" + from + "))"
}

// records is a relation of the records of tables, each key's in one partition and in the order in which a stage reads
// them.
func records(tables []place, mapped bool) string {
	parts := make([]string, len(tables))
	for tag, t := range tables {
		parts[tag] = fmt.Sprintf("SELECT k, %d AS g, o, p FROM %s WHERE t = %d", tag, parquet(t.dir), t.output)
	}
	all := strings.Join(parts, "\nUNION ALL ")
	if mapped {
		return all
	}
	return "SELECT k, g, o, p FROM (" + all + ")\nDISTRIBUTE BY k SORT BY k, g, o"
}

const recordColumns = "k, g, base64(o), base64(p)"

func parquet(dir string) string { return "parquet." + identifier(dir) }

// numbers is a relation of the numbers of so many files, a task each.
func numbers(files int) string {
	return fmt.Sprintf("SELECT id FROM range(0, %d, 1, %d)", files, files)
}
