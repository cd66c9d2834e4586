/* halfulp/status.h - result codes of every fallible function.
 * Layer 0 (depends on nothing). Thread-safe: the message is kept per thread.
 */
#ifndef HALFULP_STATUS_H
#define HALFULP_STATUS_H
#include <halfulp/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, text, exit code of the program): 1 failed, 2 usage, 3 data, 4 numerics, 5 resources, 6
 * peer. */
#define HU_STATUS_LIST(X)                                                                          \
    X(OK, "ok", 0)                                                                                 \
    X(ERR_MEMORY, "out of memory", 5)                                                              \
    X(ERR_ARGUMENT, "invalid argument", 2)                                                         \
    X(ERR_SHAPE, "shapes do not fit", 2)                                                           \
    X(ERR_FORMAT, "invalid number format", 2)                                                      \
    X(ERR_PARSE, "text cannot be parsed", 2)                                                       \
    X(ERR_UNKNOWN, "unknown name", 2)                                                              \
    X(ERR_CORRUPT, "damaged file", 3)                                                              \
    X(ERR_VERSION, "file of another version", 3)                                                   \
    X(ERR_MISSING, "file not found", 3)                                                            \
    X(ERR_IO, "input or output failed", 5)                                                         \
    X(ERR_LIMIT, "limit exceeded", 5)                                                              \
    X(ERR_UNSUPPORTED, "not supported by this build", 2)                                           \
    X(ERR_NONFINITE, "non-finite numbers", 4)                                                      \
    X(ERR_PEER, "peer lost", 6)                                                                    \
    X(ERR_INTERRUPTED, "interrupted", 130)                                                         \
    X(ERR_INTERNAL, "internal error", 1)                                                           \
    X(ERR_KIND, "file of a kind that is not supported", 3)

typedef enum hu_status {
#define HU_STATUS_ENUM(name, text, code) HU_##name,
    HU_STATUS_LIST(HU_STATUS_ENUM)
#undef HU_STATUS_ENUM
} hu_status;

/* Short text of a status; "unknown status" for another number. Borrowed: valid forever. */
HU_API const char *hu_status_text(hu_status status);

/* Exit code that the program gives for a status (0..6, 130); 1 for another number. */
HU_API int hu_status_exit_code(hu_status status);

/* What was found, what was expected, where: the message of this thread's latest failure, "" if
 * none. Borrowed: valid until the next failure in the same thread. */
HU_API const char *hu_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
