/* Preloaded into the program by tests/program/memory_test.py: makes one allocation fail, or all
 * from one on, wherever it is asked for: in the program, in libc or in any other library.
 *
 * The process stays a server before main: for each line "NTH KIND SECONDS FOLDER" on descriptor 198
 * it forks a child, which goes on into main within FOLDER, its output in the files out and err
 * there, and answers on 199 "STATUS ALLOCATIONS", the status being that of waitpid. NTH counts from
 * 1; KIND is one of
 *     one    the nth allocation fails
 *     all    the nth and all after it fail
 *     tell   as one, and the file list gets the calls that led there
 *     list   none fails; the file list gets for every allocation its number and the hash of the
 *            addresses it was made from
 * Without descriptor 198 nothing is changed: programs that the program starts run as always.
 *
 * Two askers always get their memory, because they end the process by themselves where they do not,
 * whatever the program does: the dynamic loader (a library, a thread's variables in it) and the
 * constructors of a library that dlopen runs (std::bad_alloc in none of our frames). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS = 198, ANSWERS = 199, LIST = 197, DEPTH = 20, SKIPPED = 2 };

/* glibc's own names of what is replaced below. */
extern void *__libc_malloc(size_t bytes), *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes),
    *__libc_memalign(size_t align, size_t bytes);

static _Atomic long *made; /* of the child, seen by the server */
static long wanted;        /* 0: none */
static bool is_armed, fails_on, lists, tells;
static _Thread_local bool is_inside; /* backtrace and dlopen allocate */
static uintptr_t loader, loader_end; /* where the dynamic loader lies */

static int measure_loader(struct dl_phdr_info *object, size_t bytes, void *nothing) {
    (void)bytes, (void)nothing;
    if (object->dlpi_addr != loader) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        uintptr_t end = loader + object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz;
        if (object->dlpi_phdr[i].p_type == PT_LOAD && end > loader_end) loader_end = end;
    }
    return 1;
}

static void note_place(long number) {
    void *frame[DEPTH];
    unsigned long hash = 14695981039346656037ul; /* FNV-1a */
    is_inside = true;
    for (int i = SKIPPED, depth = backtrace(frame, DEPTH); i < depth; i++)
        hash = (hash ^ (unsigned long)frame[i]) * 1099511628211ul;
    dprintf(LIST, "%ld %lx\n", number, hash);
    is_inside = false;
}

static void tell_place(void) {
    void *frame[DEPTH];
    is_inside = true;
    backtrace_symbols_fd(frame, backtrace(frame, DEPTH), LIST);
    is_inside = false;
}

static bool strikes(const void *asker) {
    if (!is_armed || is_inside) return false;
    if ((uintptr_t)asker >= loader && (uintptr_t)asker < loader_end) return false;
    long number = atomic_fetch_add(made, 1) + 1;
    if (lists) note_place(number);
    if (wanted == 0 || number < wanted || (number > wanted && !fails_on)) return false;
    if (tells) tell_place();
    errno = ENOMEM;
    return true;
}

#define ASKER __builtin_return_address(0)

void *malloc(size_t bytes) {
    return strikes(ASKER) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    return strikes(ASKER) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes) {
    return strikes(ASKER) ? NULL : __libc_realloc(block, bytes);
}

void *memalign(size_t align, size_t bytes) {
    return strikes(ASKER) ? NULL : __libc_memalign(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes) {
    return strikes(ASKER) ? NULL : __libc_memalign(align, bytes);
}

int posix_memalign(void **block, size_t align, size_t bytes) {
    if (strikes(ASKER)) return ENOMEM;
    *block = __libc_memalign(align, bytes);
    return *block ? 0 : ENOMEM;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "mmap");
    return strikes(ASKER) ? MAP_FAILED : next(at, bytes, protection, flags, file, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return strikes(ASKER) ? EAGAIN : next(thread, attributes, run, argument);
}

void *dlopen(const char *file, int mode) {
    static void *(*next)(const char *, int);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    bool before = is_inside;
    is_inside = true;
    void *library = next(file, mode);
    is_inside = before;
    return library;
}

static void redirect(const char *name, int number) {
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || dup2(file, number) < 0) _exit(99);
    if (file != number) close(file);
}

/* The child's way into main. */
static void begin(const char *kind, const char *folder, long number) {
    close(COMMANDS);
    close(ANSWERS);
    if (chdir(folder) != 0) _exit(99);
    redirect("out", STDOUT_FILENO);
    redirect("err", STDERR_FILENO);
    lists = strcmp(kind, "list") == 0;
    tells = strcmp(kind, "tell") == 0;
    if (lists || tells) redirect("list", LIST);
    fails_on = strcmp(kind, "all") == 0;
    wanted = lists ? 0 : number;
    is_armed = true;
}

/* The status of a child, which is killed when its time is over. */
static int wait_for(pid_t child, long seconds) {
    int status = 0;
    const struct timespec pause = {.tv_nsec = 250000};
    for (long waited = 0; waitpid(child, &status, WNOHANG) == 0; waited++) {
        if (waited > 4000 * seconds) kill(child, SIGKILL);
        nanosleep(&pause, NULL);
    }
    return status;
}

#ifdef HALFULP_COVERAGE
/* What gcov allocates at the end of a process is none of the program's allocations: it stands
 * after main, and after exit. */
typedef int main_function(int, char **, char **);
static main_function *program_main;

static int main_and_no_more(int count, char **words, char **environment) {
    int code = program_main(count, words, environment);
    is_armed = false;
    return code;
}

int __libc_start_main(main_function *main, int count, char **words, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack) {
    int (*next)(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                void *);
    *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
    program_main = main;
    return next(main_and_no_more, count, words, init, fini, loader_fini, stack);
}

void exit(int code) {
    void (*next)(int) __attribute__((noreturn));
    is_armed = false;
    *(void **)&next = dlsym(RTLD_NEXT, "exit");
    next(code);
}
#endif

__attribute__((constructor)) static void serve(void) {
    void *warm[2];
    char line[4096], kind[8];
    long number, seconds;
    int folder;
    if (fcntl(COMMANDS, F_GETFD) < 0) return;
    backtrace(warm, 2); /* loads what it needs */
    loader = getauxval(AT_BASE);
    dl_iterate_phdr(measure_loader, NULL);
    made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *commands = fdopen(COMMANDS, "r");
    while (commands && fgets(line, sizeof line, commands)) {
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%ld %7s %ld %n", &number, kind, &seconds, &folder) != 3) _exit(98);
        atomic_store(made, 0);
        pid_t child = fork();
        if (child == 0) {
            begin(kind, line + folder, number);
            return;
        }
        int status = wait_for(child, seconds);
        dprintf(ANSWERS, "%d %ld\n", status, atomic_load(made));
    }
    _exit(0);
}
