// Package stage is how a training run is cut into pieces that need not lie on one machine.
//
// A run is a list of stages. A stage is a named, pure function: it gets all records of one key from its inputs, in a
// defined order, and writes records to its outputs. Results do not depend on the caller, the machine, the number of
// calls or the order of keys, so that the same run gives the same bits in memory, out of core, and on a cluster that
// repeats a lost machine's work.
//
//	Record    key, order, payload: the unit that travels
//	Function  a stage at work; any process can make it from a Spec: its name, options and small files
//	Engine    runs stages over tables: package local in this process (engines memory and disk)
//	Scale     sums that do not depend on order: integers, multiples of a power of two
//
// # Writing a stage
//
// Add the function to the [Registry] of its method. It may keep tables that it makes of its options and sides, but
// nothing from one key to another. Another engine may cut differently what it writes to a table with Map or in several
// records of one order: readers of such records must not depend on the cuts. Every product is rounded before it is
// added to something, float64(a*b) + c, as the compiler may join the two on some machines and would change a bit. Raise
// [Code] when a result changes.
//
// # Sums
//
// Floating-point addition depends on order, and order on partitions. Sums over nodes are therefore sums of integers. A
// [Scale] belongs to a column and is made of the largest value that the column can have, so that no sum overflows: an
// int64 has room for as many terms as the highest degree. A value above the scale's largest is an error, never a wrong
// sum.
//
// # Names
//
// A table's name is the SHA-256 of the stage that made it with all its options and inputs ([Spec.Table]), back to the
// user's rows. An engine that finds a table of that name does not run the stage again. So a run that was killed goes
// on.
package stage
