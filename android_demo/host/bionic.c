/* What Android's C library has and glibc has not, or has in another form. Everything else that the
 * runtime's library asks for is passed on to glibc as it is: build.sh writes those lines. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A hidden version: the name is seen by libraries that ask for it of Android's libc, not by ours. */
#define EXPORT(name) __asm__(".symver bionic_" #name ", " #name "@LIBC")

/* stdin, stdout and stderr are the places of this array, 152 bytes each. */
char bionic_sF[3 * 152];
__asm__(".symver bionic_sF, __sF@LIBC");

static FILE *stream(void *file) {
    FILE *const known[] = {stdin, stdout, stderr};
    const long offset = (char *)file - bionic_sF;
    return offset >= 0 && offset < (long)sizeof bionic_sF ? known[offset / 152] : file;
}

int bionic_fprintf(void *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int written = vfprintf(stream(file), format, arguments);
    va_end(arguments);
    return written;
}
EXPORT(fprintf);

int bionic_vfprintf(void *file, const char *format, va_list arguments) {
    return vfprintf(stream(file), format, arguments);
}
EXPORT(vfprintf);

int bionic_fputc(int character, void *file) { return fputc(character, stream(file)); }
EXPORT(fputc);

size_t bionic_fwrite(const void *data, size_t size, size_t count, void *file) {
    return fwrite(data, size, count, stream(file));
}
EXPORT(fwrite);

int bionic_fflush(void *file) { return fflush(file ? stream(file) : NULL); }
EXPORT(fflush);

int bionic_fileno(void *file) { return fileno(stream(file)); }
EXPORT(fileno);

int *bionic___errno(void) { return &errno; }
EXPORT(__errno);

char *bionic_strerror_r(int code, char *text, size_t size) { return strerror_r(code, text, size); }
EXPORT(strerror_r);

size_t bionic___strlen_chk(const char *text, size_t size) {
    (void)size;
    return strlen(text);
}
EXPORT(__strlen_chk);

/* The two number the same questions differently. */
long bionic_sysconf(int name) {
    switch (name) {
        case 0x27:
        case 0x28:
            return sysconf(_SC_PAGESIZE);
        case 0x60:
            return sysconf(_SC_NPROCESSORS_CONF);
        case 0x61:
            return sysconf(_SC_NPROCESSORS_ONLN);
        default:
            errno = EINVAL;
            return -1;
    }
}
EXPORT(sysconf);

int bionic___system_property_get(const char *name, char *value) {
    (void)name;
    value[0] = '\0';
    return 0;
}
EXPORT(__system_property_get);

void bionic_android_set_abort_message(const char *message) { fprintf(stderr, "%s\n", message); }
EXPORT(android_set_abort_message);

int __android_log_vprint(int priority, const char *tag, const char *format, va_list arguments) {
    (void)priority;
    fprintf(stderr, "%s: ", tag);
    return vfprintf(stderr, format, arguments) + fprintf(stderr, "\n");
}
