/* Lets a wheel that is linked on a newer system run with glibc 2.28: the functions below have got
 * newer versions since (of 2.29 in libm, of 2.34 when libpthread and libdl became parts of libc) or
 * were no functions of glibc. Linked with -Wl,--wrap=NAME for each, calls of NAME come here, also
 * those out of static archives, and go on to the version that every glibc of x86-64 has; it does
 * the same. Not used where the wheel is built with glibc 2.28 itself (python/CMakeLists.txt). */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

/* dladdr is no part of POSIX, and its structure is only passed on. */
typedef void dl_info;

#define OLD(type, name, parameters, arguments)                                                     \
    __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5");                                        \
    type old_##name parameters;                                                                    \
    __attribute__((visibility("hidden"))) type __wrap_##name parameters;                           \
    type __wrap_##name parameters {                                                                \
        return old_##name arguments;                                                               \
    }

/* ---- libm: the old ones also set errno as SVID had it ---- */

OLD(double, exp, (double x), (x))
OLD(double, exp2, (double x), (x))
OLD(double, log, (double x), (x))
OLD(double, log2, (double x), (x))
OLD(double, pow, (double x, double y), (x, y))
OLD(double, hypot, (double x, double y), (x, y))

/* ---- libpthread and libdl, which are libraries of their own there ---- */

OLD(int, pthread_create,
    (pthread_t * t, const pthread_attr_t *a, void *(*run)(void *), void *argument),
    (t, a, run, argument))
OLD(int, pthread_join, (pthread_t t, void **result), (t, result))
OLD(int, pthread_once, (pthread_once_t * once, void (*run)(void)), (once, run))
OLD(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *before), (how, set, before))
OLD(int, pthread_rwlock_init, (pthread_rwlock_t * l, const pthread_rwlockattr_t *a), (l, a))
OLD(int, pthread_rwlock_destroy, (pthread_rwlock_t * l), (l))
OLD(int, pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l))
OLD(int, pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l))
OLD(int, pthread_rwlock_unlock, (pthread_rwlock_t * l), (l))
OLD(void *, dlopen, (const char *path, int flags), (path, flags))
OLD(void *, dlsym, (void *handle, const char *name), (handle, name))
OLD(int, dlclose, (void *handle), (handle))
OLD(char *, dlerror, (void), ())
OLD(int, dladdr, (const void *address, dl_info *info), (address, info))

/* ---- stat: macros over functions that take the version of their structure ---- */

enum { STAT_VERSION = 1 };

#define STAT(name, inner, type)                                                                    \
    __asm__(".symver old_" #name "," #inner "@GLIBC_2.2.5");                                       \
    int old_##name(int version, type file, struct stat *facts);                                    \
    __attribute__((visibility("hidden"))) int __wrap_##name(type file, struct stat *facts);        \
    int __wrap_##name(type file, struct stat *facts) {                                             \
        return old_##name(STAT_VERSION, file, facts);                                              \
    }

STAT(stat, __xstat, const char *)
STAT(lstat, __lxstat, const char *)
STAT(fstat, __fxstat, int)

/* ---- the start of a program: since 2.34 libc itself runs its constructors, so that crt1.o passes
 * none; the program of the package has none, those of its libraries the loader runs ---- */

typedef int main_function(int argc, char **argv, char **environment);

OLD(int, __libc_start_main,
    (main_function * run, int argc, char **argv, void (*begin)(void), void (*end)(void),
     void (*unload)(void), void *stack_end),
    (run, argc, argv, begin, end, unload, stack_end))

/* ---- 2.36: seeds of libexpat's tables ---- */

__attribute__((visibility("hidden"))) void __wrap_arc4random_buf(void *to, size_t bytes);

void __wrap_arc4random_buf(void *to, size_t bytes) {
    unsigned char *at = to;
    while (bytes > 0) {
        ssize_t got = getrandom(at, bytes, 0);
        if (got <= 0) continue; /* a signal came */
        at += got;
        bytes -= (size_t)got;
    }
}
