/* halfulp/api.h - the version of the library, and the mark of what it exports. */
#ifndef HALFULP_API_H
#define HALFULP_API_H

/* 10000 x major + 100 x minor + patch, of these headers. */
#define HU_VERSION_NUMBER 200

/* In front of every function of these headers. The library hides all others. */
#if defined(__GNUC__)
#define HU_API __attribute__((visibility("default")))
#else
#define HU_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "0.2.0": the version of the library that runs. Borrowed: valid forever. */
HU_API const char *hu_version(void);

#ifdef __cplusplus
}
#endif

#endif
