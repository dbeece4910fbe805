// Package usage measures the process's own use of the machine.
package usage
