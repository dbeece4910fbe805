// Package pickle reads the Python pickles in which Planetoid's data sets are kept: protocols 0 to 2, and of these only the
// opcodes and globals that NumPy arrays, SciPy CSR matrices, dicts of lists and numbers need. Nothing is ever called: a
// global is a name of the table below or an error, and what Python would call is a case of a switch.
//
//	pickle                                          value
//	None, True, 1, 1L, 1.5                          nil, bool, int64, float64
//	'text', u'text', b'bytes'                       string
//	(a, b)                                          Tuple
//	[a, b]                                          *List
//	{k: v}, collections.defaultdict(list)           *Dict, its keys int64 or string
//	numpy.ndarray                                   *Array of bool, integers or floats
//	numpy.int64(7), numpy.float32(0.5)              int64, float64
//	scipy.sparse csr_matrix                         *Object with its attributes
//
// Pickles may come from anywhere. [Load] works on bytes in memory: every declared length is checked against the bytes that
// are left before anything is made of it, each opcode adds at most one value, memo keys are not used as sizes, and nothing
// recurses. So memory and time grow with the length of the pickle, whatever it says. Errors name the opcode and its offset.
//
// The opcodes are described in Python's pickletools module, the reductions in NumPy's ndarray.__reduce__ and
// dtype.__reduce__, and in copyreg.
package pickle
