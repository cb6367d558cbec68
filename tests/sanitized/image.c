/* Where the image is, for host.c; and a fence around what is used of it. */
#include "tests/sanitized/image.h"

#include <sanitizer/asan_interface.h>

#include "injector/bootstrap/bootstrap.h"

uint64_t hd_sanitized_base(void) {
  extern const char hd_image_header[] __attribute__((visibility("hidden")));
  return (uint64_t)hd_image_header;
}

uint64_t hd_sanitized_region(uint64_t* size) {
  extern const char hd_region_end[] __attribute__((visibility("hidden")));
  const uint64_t region = (uint64_t)((struct HdRegion*)hd_state() - 1);
  *size = (uint64_t)hd_region_end - region;
  return region;
}

void hd_sanitized_fence(uint64_t used) {
  uint64_t size = 0;
  char* region = (char*)hd_sanitized_region(&size);
  const uint64_t own = sizeof(struct HdRegion) + sizeof(struct HdState);
  __asan_unpoison_memory_region(region, size);
  if (used) {
    __asan_poison_memory_region(region + own, HD_AGENT_OFFSET - own);
    __asan_poison_memory_region(region + used, size - used);
  }
}
