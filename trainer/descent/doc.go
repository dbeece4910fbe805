// Package descent holds the parts that all fits by gradient descent share, of weights of T and S (package fit) and of S
// and M themselves (package mcond): the loss of a classification and Adam. Both are generic: runs compute in float32,
// tests compare gradients with finite differences in float64.
package descent

// Number is the type of the computation.
type Number interface{ float32 | float64 }
