// Package schema names the features of nodes and says how their values become the row of numbers that a model reads:
// numbers, bools, categories, hashed text, dates and times, and vectors. A schema is fitted on the original nodes,
// kept in the artifact, and applied to every arrival that names its features.
//
// The package is a leaf: it reads no file and knows no graph.
package schema
