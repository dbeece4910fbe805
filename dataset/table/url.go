package table

import (
	"fmt"
	"regexp"
)

// schemed is how a URL begins. A scheme of one letter would be a drive.
var schemed = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)

// IsURL reports whether the path of a table is a URL, such as s3a://bucket/users or file:/data/users: then Spark reads
// the table where it lies, and this package does not.
func IsURL(path string) bool { return schemed.MatchString(path) }

// URLError is about a path that is a URL.
func URLError(path string) error {
	return fmt.Errorf("%s is a URL, and only Spark reads tables by URL: trainer train --engine spark; otherwise want the path of a file", path)
}
