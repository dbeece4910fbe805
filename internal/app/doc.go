// Package app wires a configuration to running parts: only it knows all of them. A program calls one function of it,
// such as [RunConsumer], [RunServe] or [PredictLines], with its settings.
package app
