// Package product multiplies sparse matrices by sparse ones, for what training assembles once: means of clusters through an
// operator, edges between clusters. It is github.com/james-bowman/sparse, which counts in float64, between matrices of package
// graph. Products with dense matrices are package graph's.
package product
