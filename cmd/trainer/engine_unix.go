//go:build unix

package main

import "syscall"

// errNoSpace says that a disk is full.
var errNoSpace error = syscall.ENOSPC
