// Package growth gives arrivals rows of M (the mapping from original to synthetic nodes), so that later arrivals can
// attach to them: [Grower] solves the rows by package nnls, for the messages ([Messages]) that a model's tables make.
package growth
