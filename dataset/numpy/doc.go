// Package numpy reads and writes arrays of NumPy and sparse matrices of SciPy, with bounds on everything that a file
// claims.
//
// Values are decoded by npyio; this package checks lengths, shapes and sizes of zip entries, which npyio does not.
//
// # Files
//
//	npy.go     one array: its header, its integers, floats and texts
//	npz.go     a zip archive of arrays
//	sparse.go  SciPy's CSR, CSC and COO as a [graph.CSR]
//	write.go   writing an array
package numpy
