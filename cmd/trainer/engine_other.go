//go:build !unix

package main

import "errors"

// errNoSpace is nobody's here: the message of a full disk goes without advice.
var errNoSpace = errors.New("no space is left")
