// Package forget follows ids that are sent, predicted, forgotten, and never sent again: what is stored of each, and
// which tombstones are published.
//
//	forget.go  each id and its tombstones
//	find.go    ids in all keys and values of a Redis
//
// An id is sent once. When its prediction is read, another arrival that has it as a neighbour is sent, then a record
// that asks to forget it, and then a second arrival that has it. All are in one partition, whose order says that the
// second one must not find it (package edges).
package forget
