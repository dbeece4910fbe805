// Package stage is how a training run is cut into pieces that need not lie on one machine.
//
// A run is a list of stages. A stage is a named, pure function: it gets all records of one key from its inputs,
// in a defined order, and writes records to its outputs. Who calls it, where, how often and in which order of
// keys does not matter to a result, so that the same run gives the same bits in memory, out of core, and on a
// cluster that repeats what a lost machine had done.
//
//	Record    key, order, payload: what travels
//	Function  a stage at work; Spec is its name, options and small files, of which any process can make it
//	Engine    runs stages over tables: package local in this process (engines memory and disk)
//	Scale     sums that do not depend on order: integers, multiples of a power of two
//
// # Writing a stage
//
// Add the function to the [Registry] of its method. It may keep tables that it makes of its options and sides,
// but nothing that one key leaves for another. What it writes to a table with Map or in several records of one
// order may be cut differently by another engine: who reads such records must not depend on how. Every product
// is rounded before it is added to something, float64(a*b) + c, as the compiler may join the two on some
// machines and would change a bit. Raise [Code] when a result changes.
//
// # Sums
//
// Floating-point addition depends on order, and order on partitions. Sums over nodes are therefore sums of
// integers. A [Scale] belongs to a column and is made of the largest value that the column can have, so that no
// sum overflows: of a hop, int64 with room for as many terms as the highest degree; of a whole column, 128 bits,
// in which 2^64 values of any column have room. A value above what the scale was made for is an error, never a
// wrong sum.
//
// # Names
//
// A table is called after the SHA-256 of the stage that made it with all its options and inputs ([Spec.Table]),
// back to the rows that a user gave. An engine that finds a table of that name does not run the stage again.
// That is how a run that was killed goes on.
package stage
