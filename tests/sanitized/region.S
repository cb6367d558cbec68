// The region behind the image (bootstrap/shared.h): room for all that the
// injector wrote into the real one.
        .section .bss
        .balign 4096
        .globl  hd_image_end, hd_region_end
        .hidden hd_image_end, hd_region_end
hd_image_end:
        .skip   16 << 20
hd_region_end:
        .section .note.GNU-stack, "", @progbits
