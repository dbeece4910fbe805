package serving

import (
	"fmt"
	"strconv"
	"strings"

	"rivulet/artifact"
	"rivulet/mapping"
	"rivulet/mapping/arrivals"
)

// keys builds the names of all keys with one prefix; the table is in the package's documentation.
type keys struct{ prefix string }

// newKeys refuses a prefix that would break the naming: a brace would end the hash tag early.
func newKeys(prefix string) (keys, error) {
	const extra = "._-:/"
	for _, r := range prefix {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(extra, r)) {
			return keys{}, fmt.Errorf("redis prefix is %q, want letters, digits and %q", prefix, extra)
		}
	}
	if prefix == "" {
		return keys{}, fmt.Errorf("redis prefix is empty, want letters, digits and %q", extra)
	}
	return keys{prefix}, nil
}

func (k keys) control(name string) string { return "{" + k.prefix + "}:" + name }

func (k keys) current() string    { return k.control("current") }
func (k keys) candidate() string  { return k.control("candidate") }
func (k keys) comparison() string { return k.control("comparison") }
func (k keys) history() string    { return k.control("history") }
func (k keys) versions() string   { return k.control("versions") }
func (k keys) holders() string    { return k.control("holders") }
func (k keys) deleting() string   { return k.control("deleting") }
func (k keys) lastSerial() string { return k.control("generation") }

func (k keys) writing(version string) string  { return k.control(version + ":writing") }
func (k keys) complete(version string) string { return k.control(version + ":complete") }

// data returns the beginning of the keys of all rows and files of one publication.
func (k keys) data(version string, serial int64) string {
	return k.prefix + ":" + version + ":" + strconv.FormatInt(serial, 10)
}

func (k keys) part(version string, serial int64, file string, part int) string {
	return k.data(version, serial) + ":blob:" + file + ":" + strconv.Itoa(part)
}

// table returns the place of a publication's rows.
func (k keys) table(version string, p publication) mapping.Table {
	return mapping.Table{
		Keys:      k.data(version, p.serial) + ":rows:",
		Layout:    p.meta.rows(),
		Synthetic: p.meta.Synthetic,
		Marker:    k.complete(version),
		MarkerID:  p.id(),
	}
}

// arrivals returns the place of the arrivals' rows of a publication.
func (k keys) arrivals(version string, p publication) arrivals.Table {
	return arrivals.Table{
		Keys:      k.data(version, p.serial) + ":arrivals",
		Synthetic: p.meta.Synthetic,
		Marker:    k.complete(version),
		MarkerID:  p.id(),
		Notes:     k.control(version + ":notes:" + p.content),
	}
}

// holder returns the member of the holders that says that a process uses a version. A version's name has no slash.
func holder(version, by string) string { return version + "/" + by }

// splitHolder inverts holder.
func splitHolder(member string) (version, by string) {
	version, by, _ = strings.Cut(member, "/")
	return version, by
}

// pending returns the field of deleting for one publication's data.
func pending(version string, serial int64) string {
	return version + "/" + strconv.FormatInt(serial, 10)
}

func splitPending(field string) (version string, serial int64, err error) {
	version, number, _ := strings.Cut(field, "/")
	if err := artifact.ValidVersion(version); err != nil {
		return "", 0, fmt.Errorf("field %q: %w", field, err)
	}
	if serial, err = strconv.ParseInt(number, 10, 64); err != nil {
		return "", 0, fmt.Errorf("field %q: serial number %q is not a number", field, number)
	}
	return version, serial, nil
}
