// Package architecture describes families of models as values, and takes their weights. It computes nothing on graphs:
// package infer does that, by these values. An [Architecture] is the layers, the names of their weights and the step
// after the layers; [Weights] are an architecture with the weights of its layers, from tensors and back. Each model is
// in a file of its own name; those that read the relations of edges are in relations.go.
package architecture
