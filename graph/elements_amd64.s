//go:build amd64 && !purego

#include "textflag.h"

// EACH leaves in Y1 what op makes of eight elements of y (DI), and of x (SI), and stores it in y, for CX times eight elements.

#define EACH(op) \
loop: \
	op; \
	VMOVUPS Y1, (DI); \
	ADDQ $32, SI; \
	ADDQ $32, DI; \
	DECQ CX; \
	JNZ loop; \
	VZEROUPPER; \
	RET

#define SCALE(a) VMULPS (DI), a, Y1
#define SUM VMOVUPS (SI), Y1; VADDPS (DI), Y1, Y1
// func addElements(y, x *float32, n int)
TEXT ·addElements(SB), NOSPLIT, $0-24
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	EACH(SUM)

// func scaleElements(y *float32, n int, a float32)
TEXT ·scaleElements(SB), NOSPLIT, $0-20
	MOVQ y+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSS a+16(FP), Y0
	EACH(SCALE(Y0))
