// Package baseline has the figures that training measured on the validation nodes, as a manifest keeps them: how their
// features and predictions are distributed ([Reference]), which a consumer compares its stream with, and how reliable
// probabilities are ([Confidence]), by which a prediction abstains.
package baseline
