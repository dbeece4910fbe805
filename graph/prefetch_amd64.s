//go:build amd64 && !purego

#include "textflag.h"

// func prefetch(words, units *uint32, n int)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVQ words+0(FP), DI
	MOVQ units+8(FP), SI
	MOVQ n+16(FP), CX
loop:
	MOVL (SI), AX
	SHLQ $4, AX
	PREFETCHT0 (DI)(AX*1)
	PREFETCHT0 44(DI)(AX*1)
	ADDQ $4, SI
	DECQ CX
	JNZ loop
	RET
