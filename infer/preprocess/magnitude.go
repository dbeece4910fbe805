package preprocess

import "fmt"

// MaxFeature is the largest magnitude of a feature that is trained with and predicted: the square of one is far from
// where float32 ends, so that a sum of them through a model is a number. An arrival beyond it would make NaN of its
// neighbours in a graph batch, too.
const MaxFeature = 1e15

// CheckMagnitude refuses a feature beyond [MaxFeature], and NaN. Consumers and trainers of every engine ask it.
func CheckMagnitude[F float32 | float64](v F) error {
	if v >= -MaxFeature && v <= MaxFeature {
		return nil
	}
	return fmt.Errorf("%v, features must be at most %g in magnitude", v, float64(MaxFeature))
}
