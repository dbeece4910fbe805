package event

import "unsafe"

// inPlace says whether ids may be parts of the memory of the record that they are decoded from ([Forms.InPlace]).
type inPlace bool

// text returns bytes of the record as text.
func (p inPlace) text(b []byte) string {
	if p {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return string(b)
}

// inPlaceDecoder is implemented by decoders of arrivals that can leave ids in the record's memory.
type inPlaceDecoder interface {
	decodeArrival(data []byte, a *Arrival, p inPlace) error
}
