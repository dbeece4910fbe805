// Package run wires a configuration to running parts: only it knows all of them. A program calls one function of it,
// such as [Consumer], [Serve] or [PredictLines], with its settings.
package run
