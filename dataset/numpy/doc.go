// Package numpy reads and writes arrays of NumPy and SciPy's CSR matrices. Npyio decodes the values; this package
// compares shapes with the sizes of files before memory is taken for them.
package numpy
