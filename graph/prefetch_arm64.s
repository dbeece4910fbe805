//go:build arm64 && !purego

#include "textflag.h"

// func prefetch(words, units *uint32, n int)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVD words+0(FP), R0
	MOVD units+8(FP), R1
	MOVD n+16(FP), R2
loop:
	MOVWU.P 4(R1), R3
	ADD R3<<4, R0, R3
	PRFM (R3), PLDL1KEEP
	ADD $44, R3, R3
	PRFM (R3), PLDL1KEEP
	SUBS $1, R2, R2
	BNE loop
	RET
