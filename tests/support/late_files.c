/* A shared file system that shows new files late: preloaded into Snakemake's own process, it hides
 * each file below $LATE_FOLDER until $LATE_SECONDS after it came to be. Jobs see their files at
 * once, as the node does that writes them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *folder;
static double seconds;

__attribute__((constructor)) static void start(void) {
    static char line[1 << 16];
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t n = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file) fclose(file);
    if (!memmem(line, n, "\0-m\0snakemake", 14)) return;
    const char *text = getenv("LATE_SECONDS");
    folder = text ? getenv("LATE_FOLDER") : NULL;
    seconds = text ? atof(text) : 0;
}

static int is_late(int at, const char *path) {
    char whole[2 * PATH_MAX], link[64];
    if (!folder || !path || !*path) return 0;
    if (*path == '/') {
        snprintf(whole, sizeof whole, "%s", path);
    } else {
        char base[PATH_MAX];
        if (at == AT_FDCWD) {
            if (!getcwd(base, sizeof base)) return 0;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", at);
            ssize_t n = readlink(link, base, sizeof base - 1);
            if (n < 0) return 0;
            base[n] = 0;
        }
        snprintf(whole, sizeof whole, "%s/%s", base, path);
    }
    if (strncmp(whole, folder, strlen(folder))) return 0;
    struct statx found;
    if (syscall(SYS_statx, AT_FDCWD, whole, 0, STATX_BTIME | STATX_TYPE, &found)) return 0;
    if (!S_ISREG(found.stx_mode) || !(found.stx_mask & STATX_BTIME)) return 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double age = (now.tv_sec - found.stx_btime.tv_sec) +
                 1e-9 * ((double)now.tv_nsec - found.stx_btime.tv_nsec);
    return age < seconds;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define HIDE(at, path)                                                                              \
    if (is_late(at, path)) {                                                                       \
        errno = ENOENT;                                                                            \
        return -1;                                                                                 \
    }

int stat(const char *p, struct stat *s) { HIDE(AT_FDCWD, p) return REAL(stat)(p, s); }
int lstat(const char *p, struct stat *s) { HIDE(AT_FDCWD, p) return REAL(lstat)(p, s); }
int stat64(const char *p, struct stat64 *s) { HIDE(AT_FDCWD, p) return REAL(stat64)(p, s); }
int lstat64(const char *p, struct stat64 *s) { HIDE(AT_FDCWD, p) return REAL(lstat64)(p, s); }
int fstatat(int d, const char *p, struct stat *s, int f) { HIDE(d, p) return REAL(fstatat)(d, p, s, f); }
int fstatat64(int d, const char *p, struct stat64 *s, int f) { HIDE(d, p) return REAL(fstatat64)(d, p, s, f); }
int access(const char *p, int m) { HIDE(AT_FDCWD, p) return REAL(access)(p, m); }

static mode_t mode_of(int flags, va_list rest) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; }

#define OPEN(name)                                                                                 \
    int name(const char *p, int flags, ...) {                                                      \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = mode_of(flags, rest);                                                        \
        va_end(rest);                                                                              \
        if (!(flags & O_CREAT)) HIDE(AT_FDCWD, p)                                                  \
        return REAL(name)(p, flags, mode);                                                         \
    }
OPEN(open)
OPEN(open64)

struct dirent64 *readdir64(DIR *dir) {
    struct dirent64 *entry;
    while ((entry = REAL(readdir64)(dir)) && is_late(dirfd(dir), entry->d_name)) continue;
    return entry;
}
