package infer

// MaxFeature is the largest magnitude of a feature that is trained with and predicted: the square of one is far from
// where float32 ends, so that a sum of them through a model is a number. An arrival beyond it would make NaN of its
// neighbours in a graph batch, too.
const MaxFeature = 1e15
