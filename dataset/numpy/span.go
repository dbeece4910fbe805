package numpy

import "fmt"

// Span is the least and the largest value of a feature, before its values are rounded to float32.
type Span struct {
	Least, Most float64
	seen, lossy bool // lossy: float32 does not hold a value exactly
}

// See takes the next value.
func (s *Span) See(v float64) {
	if !s.seen {
		s.seen, s.Least, s.Most = true, v, v
	}
	s.Least, s.Most = min(s.Least, v), max(s.Most, v)
	s.lossy = s.lossy || float64(float32(v)) != v
}

// Check returns an error if float32, with 24 binary digits, keeps fewer than ten of the digits in which the values
// differ, as with times of one day in seconds since 1970: a model would learn nothing from them. remedy says how to
// leave the column out.
func (s *Span) Check(column, remedy string) error {
	if size := max(-s.Least, s.Most); s.lossy && s.Most > s.Least && s.Most-s.Least < size/(1<<14) {
		return fmt.Errorf("column %s: its values are %.17g to %.17g, and the digits in which they differ are lost in "+
			"float32, as which "+
			"features are computed: subtract %.17g from them, here and in arrivals, or %s", column, s.Least, s.Most, s.Least,
			remedy)
	}
	return nil
}
