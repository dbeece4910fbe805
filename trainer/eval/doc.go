// Package eval measures deployments on batches of nodes that were not in the training graph: accuracy, time and memory
// (ALGORITHM.md, section 8).
//
// A [Set] is the nodes cut into batches and attached to T once; [Set.On] attaches the same batches to S through M, on the
// path that serving takes.
package eval
