// Package eval measures deployments on batches of nodes that were not in the training graph: accuracy, time and
// memory (docs/algorithm.md, section 8).
//
// A [Set] holds the nodes cut into batches and attached to T once; [Set.On] attaches the same batches to S through
// M, on the path that serving takes. [Run] predicts a set, [Time] and [Memory] measure a batch; all three count
// attachment to S as part of inference, and none counts M and the lookup of its rows. [Result] is one row of the
// tables. [LookUp] attaches nodes as a consumer does, by the rows that a [Version] finds for ids.
package eval
