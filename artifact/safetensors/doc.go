// Package safetensors reads and writes the files of tensors of an artifact.
//
//	safetensors.go  the format of a file: Tensor, Encode, Decode
//	tensors.go      tensors of Go's slices and of package graph's matrices; Set reads them back and checks shapes
//	arrays.go       files of other programs
package safetensors
