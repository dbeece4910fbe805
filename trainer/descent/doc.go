// Package descent holds what every fit by gradient descent shares, once for weights of T and S (package fit) and for S and M
// themselves (package mcond): the loss of a classification and Adam. Both are generic: runs count in float32, tests hold
// gradients to finite differences in float64.
package descent

// Number is what is counted in.
type Number interface{ float32 | float64 }
