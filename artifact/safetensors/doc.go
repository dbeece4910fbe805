// Package safetensors reads and writes the files of tensors of an artifact.
package safetensors
