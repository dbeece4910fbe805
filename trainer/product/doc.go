// Package product assembles sparse matrices and multiplies them by sparse ones, for matrices that training computes
// once: means of clusters through an operator, edges between clusters. Products with dense matrices are in package
// graph.
package product
