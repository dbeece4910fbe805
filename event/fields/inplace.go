package fields

import "unsafe"

// InPlace says whether ids may be parts of the memory of the record that they are decoded from ([read.Reader.InPlace]).
type InPlace bool

// Text returns bytes of the record as text.
func (p InPlace) Text(b []byte) string {
	if p {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return string(b)
}
