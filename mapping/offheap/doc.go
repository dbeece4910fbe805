// Package offheap has memory that M uses beside Go's heap: large pages for slices that are read at random, and files
// that are mapped into memory, so that all processes of a machine share their pages.
package offheap
