//go:build amd64 && !purego

#include "textflag.h"

// Both kernels add Σ_p vals[p]·x[cols[p]] to a stretch of y that stays in registers, in the order of p. Products and sums are
// rounded one by one (no fused multiply-add): the bits are those of Axpy.

// func addRows32(y, x *float32, stride int, cols *int32, vals *float32, step, n int)
TEXT ·addRows32(SB), NOSPLIT, $0-56
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ stride+16(FP), R8
	MOVQ cols+24(FP), R9
	MOVQ vals+32(FP), R10
	MOVQ step+40(FP), R11
	MOVQ n+48(FP), CX
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3

loop32:
	MOVLQSX (R9), AX
	IMULQ R8, AX
	ADDQ SI, AX
	VBROADCASTSS (R10), Y4
	VMULPS (AX), Y4, Y5
	VMULPS 32(AX), Y4, Y6
	VMULPS 64(AX), Y4, Y7
	VMULPS 96(AX), Y4, Y8
	VADDPS Y5, Y0, Y0
	VADDPS Y6, Y1, Y1
	VADDPS Y7, Y2, Y2
	VADDPS Y8, Y3, Y3
	ADDQ $4, R9
	ADDQ R11, R10
	DECQ CX
	JNZ loop32

	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VZEROUPPER
	RET

// func addRows8(y, x *float32, stride int, cols *int32, vals *float32, step, n int)
TEXT ·addRows8(SB), NOSPLIT, $0-56
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ stride+16(FP), R8
	MOVQ cols+24(FP), R9
	MOVQ vals+32(FP), R10
	MOVQ step+40(FP), R11
	MOVQ n+48(FP), CX
	VMOVUPS (DI), Y0

loop8:
	MOVLQSX (R9), AX
	IMULQ R8, AX
	VBROADCASTSS (R10), Y4
	VMULPS (SI)(AX*1), Y4, Y5
	VADDPS Y5, Y0, Y0
	ADDQ $4, R9
	ADDQ R11, R10
	DECQ CX
	JNZ loop8

	VMOVUPS Y0, (DI)
	VZEROUPPER
	RET
