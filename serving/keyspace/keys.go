package keyspace

import (
	"fmt"
	"strconv"
	"strings"

	"rivulet/artifact"
	"rivulet/mapping"
	"rivulet/mapping/arrivals"
)

// Keys are the names of all keys with one prefix, as the table in the package's documentation has them.
type Keys struct {
	Current, Versions, Holders, Deleting string

	LastSerial string // {p}:generation
	prefix     string
}

// New refuses a prefix that would break the naming: a brace would end the hash tag early.
func New(prefix string) (Keys, error) {
	const extra = "._-:/"
	for _, r := range prefix {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(extra, r)) {
			return Keys{}, fmt.Errorf("redis prefix is %q, want letters, digits and %q", prefix, extra)
		}
	}
	if prefix == "" {
		return Keys{}, fmt.Errorf("redis prefix is empty, want letters, digits and %q", extra)
	}
	k := Keys{prefix: prefix}
	for name, key := range map[string]*string{"current": &k.Current, "versions": &k.Versions, "holders": &k.Holders,
		"deleting": &k.Deleting, "generation": &k.LastSerial} {
		*key = k.control(name)
	}
	return k, nil
}

func (k Keys) control(name string) string { return "{" + k.prefix + "}:" + name }

// Writing is the key of a version that is being written.
func (k Keys) Writing(version string) string { return k.control(version + ":writing") }

// Complete is the key of the marker of a version that is whole.
func (k Keys) Complete(version string) string { return k.control(version + ":complete") }

// Data returns the beginning of the keys of all rows and files of one publication.
func (k Keys) Data(version string, serial int64) string {
	return k.prefix + ":" + version + ":" + strconv.FormatInt(serial, 10)
}

// Part is the key of a part of a file.
func (k Keys) Part(version string, serial int64, file string, part int) string {
	return k.Data(version, serial) + ":blob:" + file + ":" + strconv.Itoa(part)
}

// Table returns the place of a publication's rows.
func (k Keys) Table(version string, p Publication) mapping.Table {
	return mapping.Table{
		Keys:      k.Data(version, p.Serial) + ":rows:",
		Layout:    p.Meta.RowLayout(),
		Synthetic: p.Meta.Synthetic,
		Marker:    k.Complete(version),
		MarkerID:  p.ID(),
	}
}

// Arrivals returns the place of the arrivals' rows of a publication.
func (k Keys) Arrivals(version string, p Publication) arrivals.Table {
	return arrivals.Table{
		Rows:      k.Data(version, p.Serial) + ":a:",
		Counts:    k.Data(version, p.Serial) + ":counts",
		Synthetic: p.Meta.Synthetic,
		Marker:    k.Complete(version),
		MarkerID:  p.ID(),
	}
}

// Holder returns the member of the holders that says that a process uses a version. A version's name has no slash.
func Holder(version, by string) string { return version + "/" + by }

// SplitHolder inverts [Holder].
func SplitHolder(member string) (version, by string) {
	version, by, _ = strings.Cut(member, "/")
	return version, by
}

// Pending returns the field of deleting for one publication's data.
func Pending(version string, serial int64) string {
	return version + "/" + strconv.FormatInt(serial, 10)
}

// SplitPending inverts [Pending].
func SplitPending(field string) (version string, serial int64, err error) {
	version, number, _ := strings.Cut(field, "/")
	if err := artifact.ValidVersion(version); err != nil {
		return "", 0, fmt.Errorf("field %q: %w", field, err)
	}
	if serial, err = strconv.ParseInt(number, 10, 64); err != nil {
		return "", 0, fmt.Errorf("field %q: serial number %q is not a number", field, number)
	}
	return version, serial, nil
}
