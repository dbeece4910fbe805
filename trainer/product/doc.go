// Package product multiplies sparse matrices by sparse ones, for matrices that training computes once: means of
// clusters through an operator, edges between clusters. It applies github.com/james-bowman/sparse, which computes
// in float64, to matrices of package graph. Products with dense matrices are in package graph.
package product
