// Package explain says why an arrival got its class (docs/algorithm.md, section 10). An [Explainer] belongs to one
// predictor and has two figures for each term of a prediction: a feature, a neighbour, another arrival of the batch,
// the small model of own features.
//
//   - Without: how much the logit falls if the model answers again without the term. Every model has it.
//   - Share: what the term adds to the logit. Linear models have it (sgc, ssgc, rsgc, dirsgc), and the shares add up to
//     the logit. They are computed in float64.
package explain
