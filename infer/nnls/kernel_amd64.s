//go:build amd64 && !purego

#include "go_asm.h"
#include "textflag.h"

// The kernels of kernel.go for eight columns at once. Products and sums are rounded one by one, as in plain
// Go. Vectors have a multiple of 64 bytes; AX is the place in them in bytes.

// func productsAVX2(to, across, t *float32, rows, bytes int)
TEXT ·productsAVX2(SB), NOSPLIT, $0-40
	MOVQ to+0(FP), DI
	MOVQ across+8(FP), SI
	MOVQ t+16(FP), DX
	MOVQ rows+24(FP), R8
	MOVQ bytes+32(FP), R9
	XORQ AX, AX

columns:
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	LEAQ   (SI)(AX*1), R11
	MOVQ   DX, R12
	MOVQ   R8, CX

row:
	VBROADCASTSS (R12), Y2
	VMULPS       (R11), Y2, Y3
	VMULPS       32(R11), Y2, Y4
	VADDPS       Y3, Y0, Y0
	VADDPS       Y4, Y1, Y1
	ADDQ         R9, R11
	ADDQ         $4, R12
	DECQ         CX
	JNZ          row

	VMOVUPS Y0, (DI)(AX*1)
	VMOVUPS Y1, 32(DI)(AX*1)
	ADDQ    $64, AX
	CMPQ    AX, R9
	JLT     columns
	VZEROUPPER
	RET

// func fillAVX2(s *coordinates, whole, b *float32, n, bytes int)
//
// R8 c, R9 left, R10 r, R11 the rows of G, R13 n, R14 bytes; SI runs over P and DX over x.
TEXT ·fillAVX2(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), BX
	MOVQ coordinates_c(BX), R8
	MOVQ coordinates_left(BX), R9
	MOVQ coordinates_r(BX), R10
	MOVQ coordinates_rows(BX), R11
	MOVQ n+24(FP), R13
	MOVQ bytes+32(FP), R14
	XORQ AX, AX

columns:
	MOVQ    b+16(FP), DX
	VMOVUPS (DX)(AX*1), Y1
	MOVQ    whole+8(FP), DX
	VMOVUPS (DX)(AX*1), Y2
	MOVQ    coordinates_inverse(BX), SI
	MOVQ    coordinates_weights(BX), DX
	LEAQ    (R8)(AX*1), DI
	XORQ    R12, R12

coordinate:
	VXORPS Y0, Y0, Y0
	XORQ   CX, CX

support:
	MOVQ         (R11)(CX*8), R15
	VBROADCASTSS (SI), Y3
	VMULPS       (R15)(AX*1), Y3, Y3
	VADDPS       Y3, Y0, Y0
	ADDQ         $4, SI
	INCQ         CX
	CMPQ         CX, R13
	JLT          support

	VMOVUPS      Y0, (DI)
	MOVQ         (R11)(R12*8), R15
	VMOVUPS      (R15)(AX*1), Y3
	VMULPS       Y3, Y0, Y0
	VSUBPS       Y0, Y2, Y2
	VBROADCASTSS (DX)(R12*4), Y4
	VMULPS       Y3, Y4, Y4
	VSUBPS       Y4, Y1, Y1
	ADDQ         R14, DI
	INCQ         R12
	CMPQ         R12, R13
	JLT          coordinate

	VMOVUPS Y1, (R10)(AX*1)
	VMOVUPS Y2, (R9)(AX*1)
	ADDQ    $32, AX
	CMPQ    AX, R14
	JLT     columns
	VZEROUPPER
	RET

// func scanAVX2(p *pick, s *coordinates, n, bytes int)
//
// SI r, DI left, R8 and R9 coordinates of what is taken out, R10 gram, R13 bytes. Y15 alphaA, Y14 alphaB, Y13
// betaAA, Y12 betaAB, Y11 betaBB, Y10 y, Y9 inverse; Y6 the largest so far, Y5 their places, Y4 the place.
TEXT ·scanAVX2(SB), NOSPLIT, $0-32
	MOVQ         p+0(FP), BX
	MOVQ         s+8(FP), DX
	MOVQ         bytes+24(FP), R13
	MOVQ         coordinates_r(DX), SI
	MOVQ         coordinates_left(DX), DI
	MOVQ         coordinates_c(DX), DX
	MOVQ         pick_a(BX), R8
	MOVQ         pick_b(BX), R9
	MOVQ         pick_gram(BX), R10
	VBROADCASTSS pick_alphaA(BX), Y15
	VBROADCASTSS pick_alphaB(BX), Y14
	VBROADCASTSS pick_betaAA(BX), Y13
	VBROADCASTSS pick_betaAB(BX), Y12
	VBROADCASTSS pick_betaBB(BX), Y11
	VBROADCASTSS pick_y(BX), Y10
	VBROADCASTSS pick_inverse(BX), Y9
	VXORPS       Y6, Y6, Y6
	VPCMPEQD     Y5, Y5, Y5
	VMOVDQU      ·counting<>(SB), Y4
	XORQ         AX, AX

columns:
	VMOVUPS (R8)(AX*1), Y3
	VMULPS  Y15, Y3, Y0
	VADDPS  (SI)(AX*1), Y0, Y1
	VMULPS  Y13, Y3, Y0
	VMULPS  Y3, Y0, Y0
	VADDPS  (DI)(AX*1), Y0, Y2
	TESTQ   R9, R9
	JZ      new

	VMOVUPS (R9)(AX*1), Y8
	VMULPS  Y14, Y8, Y0
	VADDPS  Y0, Y1, Y1
	VMULPS  Y12, Y3, Y0
	VMULPS  Y11, Y8, Y7
	VADDPS  Y7, Y0, Y0
	VMULPS  Y8, Y0, Y0
	VADDPS  Y0, Y2, Y2

new:
	TESTQ   R10, R10
	JZ      compare

	VMOVUPS (R10)(AX*1), Y0
	MOVQ    n+16(FP), CX
	LEAQ    (DX)(AX*1), R11
	MOVQ    pick_gamma(BX), R12

support:
	VBROADCASTSS (R12), Y3
	VMULPS       (R11), Y3, Y3
	VADDPS       Y3, Y0, Y0
	ADDQ         R13, R11
	ADDQ         $4, R12
	DECQ         CX
	JNZ          support

	VMULPS Y10, Y0, Y3
	VSUBPS Y3, Y1, Y1
	VMULPS Y9, Y0, Y3
	VMULPS Y0, Y3, Y3
	VSUBPS Y3, Y2, Y2

compare:
	VXORPS    Y3, Y3, Y3
	VMAXPS    Y3, Y1, Y1
	VMULPS    Y1, Y1, Y1
	VMOVUPS   pick_least(BX), Y0
	VCMPPS    $30, Y0, Y2, Y3   // greater
	VANDPS    Y3, Y1, Y1
	VMAXPS    Y0, Y2, Y2
	VDIVPS    Y2, Y1, Y1
	VCMPPS    $30, Y6, Y1, Y3
	VMAXPS    Y6, Y1, Y6
	VBLENDVPS Y3, Y4, Y5, Y5
	VPADDD    pick_step(BX), Y4, Y4
	ADDQ      $32, AX
	CMPQ      AX, R13
	JLT       columns

	// The largest of all eight; of the places that have it the first, where −1 is the last of all without sign.
	VEXTRACTF128 $1, Y6, X0
	VMAXPS       X0, X6, X0
	VPSHUFD      $0x4E, X0, X1
	VMAXPS       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSS       X0, pick_most(BX)
	VBROADCASTSS X0, Y0
	VCMPPS       $4, Y0, Y6, Y0       // not equal
	VORPS        Y0, Y5, Y5
	VEXTRACTI128 $1, Y5, X0
	VPMINUD      X0, X5, X0
	VPSHUFD      $0x4E, X0, X1
	VPMINUD      X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPMINUD      X1, X0, X0
	VMOVD        X0, pick_col(BX)
	VZEROUPPER
	RET

DATA ·counting<>+0(SB)/4, $0
DATA ·counting<>+4(SB)/4, $1
DATA ·counting<>+8(SB)/4, $2
DATA ·counting<>+12(SB)/4, $3
DATA ·counting<>+16(SB)/4, $4
DATA ·counting<>+20(SB)/4, $5
DATA ·counting<>+24(SB)/4, $6
DATA ·counting<>+28(SB)/4, $7
GLOBL ·counting<>(SB), RODATA|NOPTR, $32
