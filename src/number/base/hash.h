/* base/hash.h - XXH64 over pieces, without the heap. */
#ifndef HU_BASE_HASH_H
#define HU_BASE_HASH_H
#define XXH_STATIC_LINKING_ONLY /* the state's size is needed to keep it on the stack */
#include <xxhash.h>

#endif
