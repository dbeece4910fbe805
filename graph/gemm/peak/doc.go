// Package peak measures how many floating-point operations a core can do: vector fused multiply-adds on registers
// alone, which wait neither for memory nor for each other. It is the limit beside which the benchmarks of
// package gemm print the kernels; only tests import it.
package peak
