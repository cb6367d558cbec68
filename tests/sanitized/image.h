/* What host.c asks of the image that it has loaded. */
#ifndef HANGDBG_SANITIZED_IMAGE_H
#define HANGDBG_SANITIZED_IMAGE_H

#include <stdint.h>

#define HD_EXPORTED __attribute__((visibility("default")))

/* The image's first byte. */
HD_EXPORTED uint64_t hd_sanitized_base(void);
/* Where struct HdRegion is, and how many bytes are there in all. */
HD_EXPORTED uint64_t hd_sanitized_region(uint64_t* size);
/* So many of them are used: what is between, and behind them, is not to be
 * touched. Before the first thread; with 0, after the last. */
HD_EXPORTED void hd_sanitized_fence(uint64_t used);
/* How much of what was mapped has not been unmapped. */
HD_EXPORTED uint64_t hd_sanitized_blocks(void);

#endif
