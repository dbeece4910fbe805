// Package pickle reads the Python pickles of Planetoid's data sets: protocols 0 to 2, and of these only the opcodes and
// globals that NumPy arrays, SciPy CSR matrices, dicts of lists and numbers need. Nothing is ever called: a global is a
// name of the table below or an error, and Python's calls are cases of a switch.
//
//	pickle                                          value
//	None, True, 1, 1L, 1.5                          nil, bool, int64, float64
//	'text', u'text', b'bytes'                       string
//	(a, b)                                          Tuple
//	[a, b]                                          *List
//	{k: v}, collections.defaultdict(list)           *Dict, its keys int64 or string
//	numpy.ndarray                                   *Array of bool, integers or floats, undecoded
//	numpy.int64(7)                                  int64
//	scipy.sparse csr_matrix                         *Object with its attributes
//
// Pickles may come from anywhere. [Load] works on bytes in memory: every declared length is checked against the
// remaining bytes before memory is allocated for it, each opcode adds at most one value, memo keys are not used as
// sizes, and nothing recurses. So memory and time are bounded by the length of the pickle, whatever it declares.
// Errors name the opcode and its offset.
//
// Two libraries were measured before this reader was kept, with the pickles of dataset/testdata/planetoid and the
// hostile ones of TestLoadRefuses:
//
//	og-rek v1.3.0 (2025)      reads no array: it has neither BUILD nor NEWOBJ; 2.3 GiB for an integer of a million digits
//	gopickle v0.2.0 (2023)    has hooks for an allow-list of classes, but allocates a length before it reads that much:
//	                          2 and 4 GiB for the 6 bytes "2 GiB of text" and "4 GiB of text", and 12 bytes of protocol
//	                          4 end the process (out of memory, which nothing can recover from); it leaves the escapes
//	                          of protocol 0 as they are, so that arrays are 4 times too long, and panics over the 0L of
//	                          protocol 2
//
// The opcodes are described in Python's pickletools module, the reductions in NumPy's ndarray.__reduce__ and
// dtype.__reduce__, and in copyreg.
package pickle
