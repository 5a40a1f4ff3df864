/* A manager of a universe that Hemiola simulates: it is told of births, deaths and rows.
 *
 *     #include "hemiola_manager.h"
 *
 *     hemiola_manager_t m;
 *     if (hemiola_manager_register(&m, "bird:position:near([0,0], [200<m>,200<m>], 1<m>)", NULL))
 *         return puts(m.error), 1;
 *     while (hemiola_manager_next(&m, -1) > 0) {
 *         if (m.kind == HEMIOLA_ROWS) {
 *             const double *x = hemiola_column(&m, 0); // of m.count entities
 *             for (uint32_t i = 0; i < m.count; i++) printf("%llu %g\n", hemiola_entity(&m, i), x[i]);
 *         }
 *     }
 *     puts(m.error); // why it ended
 *     hemiola_manager_close(&m);
 *
 * C11 or C++11 with GCC or Clang, on little-endian 64-bit Linux; nothing to link. Include it before other headers, or
 * compile with -std=gnu11 or -D_GNU_SOURCE. A message is read where it stands in memory shared with the universe, and
 * stays valid until the next call of hemiola_manager_next(). A manager that is slow gets newer values in place of older
 * ones and never delays the universe. One thread at a time uses a manager.
 *
 * The contract, for other languages too, is docs/guide/managers.md of Hemiola.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef HEMIOLA_MANAGER_H
#define HEMIOLA_MANAGER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef F_GET_SEALS
#error "include hemiola_manager.h before other headers, or compile with -std=gnu11 or -D_GNU_SOURCE"
#endif
#if !defined(__linux__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || __SIZEOF_POINTER__ != 8
#error "hemiola_manager.h is for little-endian 64-bit Linux"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a message tells. Columns and elements are kept by hemiola_manager_next() and not returned. */
enum { HEMIOLA_BIRTHS = 3, HEMIOLA_ROWS = 4, HEMIOLA_DEATHS = 5, HEMIOLA_STEP = 6 };
/* The types of columns. A text is a byte with its length, and the bytes of UTF-8. */
enum { HEMIOLA_BOOLEAN = 1, HEMIOLA_INTEGER = 2, HEMIOLA_REAL32 = 3, HEMIOLA_REAL = 4, HEMIOLA_TEXT = 5 };

#define HEMIOLA_COLUMNS_MAX 256
#define HEMIOLA_COLUMN_NAME_MAX 64 /* longer names are cut */

/* What a manager asks for beside its monitor; zeros are the defaults. */
typedef struct hemiola_manager_options_t {
    const char *name;     /* its name, for people */
    const char *universe; /* RUN or RUN/PROCESS; by default that of HEMIOLA_RUN, or the only one that runs */
    uint64_t queue;       /* bytes of its queue; by default 1 MiB */
    int every_step;       /* whether it is told of each step, also of one in which nothing else is told */
} hemiola_manager_options_t;

typedef struct hemiola_manager_t {
    /* The message: for the reader. */
    int kind;
    uint32_t count;   /* of entities */
    uint32_t element; /* its number: births, rows */
    uint64_t step;    /* the step that it belongs to */
    uint64_t left;    /* births, rows and deaths that wait until more was read: step */
    uint32_t columns;
    struct { int type; uint32_t width; char name[HEMIOLA_COLUMN_NAME_MAX]; } column[HEMIOLA_COLUMNS_MAX];
    char error[512]; /* why it did not begin, or ended */
    /* Private. */
    int socket, gone;
    unsigned char *base;
    const unsigned char *body;
    size_t length, stride, body_length;
    uint32_t slot_size, slots, consumed, held;
} hemiola_manager_t;

/* ---- private ---- */

static inline int hemiola_manager_fail_(hemiola_manager_t *m, const char *why, const char *what) {
    snprintf(m->error, sizeof m->error, "%.200s%s%.200s", why, what ? ": " : "", what ? what : "");
    return -1;
}

static inline uint32_t hemiola_manager_load_(const hemiola_manager_t *m, size_t at) {
    return __atomic_load_n((uint32_t *)(void *)(m->base + at), __ATOMIC_ACQUIRE);
}

/* The name of the universe, from the kernel's list of sockets. Returns how many fit, up to 2. */
static inline int hemiola_manager_find_(const char *wanted, char *name, size_t size) {
    FILE *table = fopen("/proc/net/unix", "r");
    char line[512];
    int found = 0;
    while (table && fgets(line, sizeof line, table)) {
        char *at = strstr(line, " @hemiola-universe/");
        size_t length = wanted ? strlen(wanted) : 0;
        if (!at) continue;
        at += strlen(" @hemiola-universe/");
        at[strcspn(at, "\n")] = 0;
        if (wanted && strcmp(at, wanted) != 0 && (strncmp(at, wanted, length) != 0 || at[length] != '/')) continue;
        if (found && strcmp(name, at) == 0) continue; /* a connection of the same socket */
        snprintf(name, size, "%s", at);
        found++;
    }
    if (table) fclose(table);
    return found;
}

static inline void hemiola_manager_quote_(char *to, size_t size, const char *text) {
    size_t n = strlen(to);
    if (n + 1 < size) to[n++] = '"';
    for (; *text && n + 8 < size; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20) n += (size_t)snprintf(to + n, size - n, "\\u%04x", c);
        else { if (c == '"' || c == '\\') to[n++] = '\\'; to[n++] = (char)c; }
    }
    if (n + 1 < size) to[n++] = '"';
    to[n] = 0;
}

/* The text behind a key of an answer; empty if there is none. */
static inline void hemiola_manager_value_(const char *line, const char *key, char *to, size_t size) {
    const char *at = strstr(line, key);
    size_t n = 0;
    if (at && (at = strchr(at, ':')) && (at = strchr(at, '"')))
        for (at++; *at && *at != '"' && n + 1 < size; at++) {
            if (*at == '\\' && at[1]) at++;
            to[n++] = *at;
        }
    to[n] = 0;
}

static inline int hemiola_manager_connect_(hemiola_manager_t *m, const char *wanted) {
    char name[108];
    struct sockaddr_un address;
    int found = 0;
    memset(&address, 0, sizeof address);
    for (int n = 0; n < (wanted ? 500 : 1) && !(found = hemiola_manager_find_(wanted, name, sizeof name)); n++) {
        struct timespec rest = {0, 20000000};
        nanosleep(&rest, NULL);
    }
    if (found == 0) return hemiola_manager_fail_(m, "no such universe is running", wanted);
    if (found > 1) return hemiola_manager_fail_(m, "several universes are running", "choose one");
    address.sun_family = AF_UNIX;
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "hemiola-universe/%s", name);
    if (length < 0 || (size_t)length >= sizeof address.sun_path - 1) return hemiola_manager_fail_(m, "too long", name);
    m->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (m->socket < 0 || connect(m->socket, (struct sockaddr *)&address, size) != 0)
        return hemiola_manager_fail_(m, "cannot connect to the universe", strerror(errno));
    return 0;
}

/* Receives the answer, and the descriptor that comes with it. */
static inline int hemiola_manager_answer_(hemiola_manager_t *m, char *line, size_t size, int *fd) {
    size_t n = 0;
    while (n + 1 < size && (n == 0 || line[n - 1] != '\n')) {
        union { struct cmsghdr align; char space[CMSG_SPACE(sizeof(int))]; } control;
        struct iovec part = {line + n, size - 1 - n};
        struct msghdr message;
        memset(&message, 0, sizeof message);
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.space;
        message.msg_controllen = sizeof control.space;
        ssize_t length = recvmsg(m->socket, &message, MSG_CMSG_CLOEXEC);
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) return hemiola_manager_fail_(m, "the universe ended before it answered", NULL);
        struct cmsghdr *with = CMSG_FIRSTHDR(&message);
        if (with && with->cmsg_level == SOL_SOCKET && with->cmsg_type == SCM_RIGHTS)
            memcpy(fd, CMSG_DATA(with), sizeof *fd);
        n += (size_t)length;
    }
    line[n] = 0;
    return 0;
}

/* Maps the queue, and keeps copies of its sizes: the header is not read again. */
static inline int hemiola_manager_map_(hemiola_manager_t *m, int fd) {
    struct stat file;
    const uint32_t *header;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &file) != 0 || file.st_size < 192)
        return hemiola_manager_fail_(m, "the queue is not shared memory of a fixed size", NULL);
    m->length = (size_t)file.st_size;
    m->base = (unsigned char *)mmap(NULL, m->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (m->base == MAP_FAILED) {
        m->base = NULL;
        return hemiola_manager_fail_(m, "the queue cannot be mapped", strerror(errno));
    }
    header = (const uint32_t *)(const void *)m->base; /* magic, version, kind, slot size, slots, capacity */
    m->slot_size = header[3];
    m->slots = header[4];
    m->stride = ((size_t)m->slot_size + 8 + 63) / 64 * 64;
    if (header[0] != 0x314D4548 || header[1] != 1 || header[2] != 2 || m->slot_size < 40 || m->slots == 0 ||
        (m->slots & (m->slots - 1)) != 0 || (m->length - 192) / m->stride < m->slots)
        return hemiola_manager_fail_(m, "the queue is not one of version 1", NULL);
    m->consumed = hemiola_manager_load_(m, 128);
    return 0;
}

static inline size_t hemiola_manager_padded_(size_t length) { return (length + 7) / 8 * 8; }

/* Keeps the columns. Returns 0, or -1 if the message is invalid. */
static inline int hemiola_manager_learn_(hemiola_manager_t *m) {
    size_t at = 0;
    m->columns = 0;
    for (uint32_t n = 0; n < m->count && n < HEMIOLA_COLUMNS_MAX; n++, m->columns++) {
        uint16_t width, length;
        if (m->body_length - at < 8) return -1;
        memcpy(&width, m->body + at + 2, 2);
        memcpy(&length, m->body + at + 4, 2);
        if ((m->body_length - at - 8) < hemiola_manager_padded_(length)) return -1;
        size_t kept = length < HEMIOLA_COLUMN_NAME_MAX - 1 ? length : HEMIOLA_COLUMN_NAME_MAX - 1;
        m->column[n].type = m->body[at];
        m->column[n].width = width;
        memcpy(m->column[n].name, m->body + at + 8, kept);
        m->column[n].name[kept] = 0;
        at += 8 + hemiola_manager_padded_(length);
    }
    return 0;
}

/* Takes the next message; 0 if there is none, -1 if it is invalid. */
static inline int hemiola_manager_take_(hemiola_manager_t *m) {
    if (m->held) { /* the reader is done with the one before */
        m->held = 0;
        __atomic_store_n((uint32_t *)(void *)(m->base + 128), ++m->consumed, __ATOMIC_RELEASE);
    }
    if (hemiola_manager_load_(m, 64) == m->consumed) return 0;
    const unsigned char *slot = m->base + 192 + (size_t)((m->consumed + 1) & (m->slots - 1)) * m->stride;
    uint32_t length, number;
    uint16_t kind, version;
    memcpy(&length, slot, 4);
    memcpy(&number, slot + 4, 4);
    if (number != m->consumed + 1 || length < 40 || length > m->slot_size) return -1;
    m->held = 1;
    memcpy(&kind, slot + 8, 2);
    memcpy(&version, slot + 10, 2);
    memcpy(&m->count, slot + 12, 4);
    memcpy(&m->step, slot + 16, 8);
    memcpy(&m->element, slot + 24, 4);
    memcpy(&m->left, slot + 40, 8);
    m->kind = kind;
    m->body = slot + 48;
    m->body_length = length - 40;
    if (version != 1) return -1;
    size_t needed = kind >= HEMIOLA_BIRTHS && kind <= HEMIOLA_DEATHS ? 8 * (size_t)m->count : 0;
    for (uint32_t n = 0; n < m->columns && kind <= HEMIOLA_ROWS && kind >= HEMIOLA_BIRTHS; n++)
        needed += hemiola_manager_padded_((size_t)m->column[n].width * m->count);
    if (needed > m->body_length) return -1;
    return 1;
}

/* Whether the universe has closed the connection; keeps what it said last. */
static inline int hemiola_manager_has_ended_(hemiola_manager_t *m) {
    char line[512];
    ssize_t length = recv(m->socket, line, sizeof line - 1, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return 0;
    if (length > 0) {
        line[length] = 0;
        hemiola_manager_value_(line, "\"ended\"", m->error, sizeof m->error);
    }
    if (m->error[0] == 0) hemiola_manager_fail_(m, "the universe has ended", NULL);
    return 1;
}

/* ---- for programs ---- */

/* Ends the manager. The error stays readable. */
static inline void hemiola_manager_close(hemiola_manager_t *m) {
    if (m->base) munmap(m->base, m->length);
    if (m->socket >= 0) close(m->socket);
    m->base = NULL;
    m->socket = -1;
}

/* Registers with a universe that runs. `monitor` is ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS). Returns 0, or -1 with the
 * reason in m->error. A universe that is named by the options or by HEMIOLA_RUN may appear within ten seconds. */
static inline int hemiola_manager_register(hemiola_manager_t *m, const char *monitor,
                                           const hemiola_manager_options_t *options) {
    hemiola_manager_options_t none;
    char line[16384] = "{\"manage\":{\"name\":", rest[128] = "";
    int fd = -1;
    memset(&none, 0, sizeof none);
    if (!options) options = &none;
    memset(m, 0, sizeof *m);
    m->socket = -1;
    if (strlen(monitor) > 4096 || (options->name && strlen(options->name) > 256))
        return hemiola_manager_fail_(m, "the text of the monitor, or the name of the manager, is too long", NULL);
    const char *run = options->universe ? options->universe : getenv("HEMIOLA_RUN");
    if (hemiola_manager_connect_(m, run && *run ? run : NULL) != 0) goto failed;
    hemiola_manager_quote_(line, sizeof line - 256, options->name ? options->name : "manager");
    strcat(line, ",\"monitor\":");
    hemiola_manager_quote_(line, sizeof line - 256, monitor);
    if (options->queue) snprintf(rest, sizeof rest, ",\"queue\":%llu", (unsigned long long)options->queue);
    strcat(strcat(line, rest), options->every_step ? ",\"every_step\":true}}\n" : "}}\n");
    if (send(m->socket, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line)) {
        hemiola_manager_fail_(m, "the universe does not listen", strerror(errno));
        goto failed;
    }
    if (hemiola_manager_answer_(m, line, sizeof line, &fd) != 0) goto failed;
    if (strncmp(line, "{\"managed\":{\"version\":1,", 24) != 0 || fd < 0) {
        hemiola_manager_value_(line, "\"refused\"", m->error, sizeof m->error);
        if (m->error[0] == 0) hemiola_manager_fail_(m, "the answer is invalid", line);
        goto failed;
    }
    if (hemiola_manager_map_(m, fd) != 0) goto failed;
    close(fd);
    /* The names of the columns came before the answer. */
    if (hemiola_manager_take_(m) != 1 || m->kind != 1 || hemiola_manager_learn_(m) != 0) {
        hemiola_manager_fail_(m, "the queue does not begin with the columns", NULL);
        hemiola_manager_close(m);
        return -1;
    }
    return 0;
failed:
    if (fd >= 0) close(fd);
    hemiola_manager_close(m);
    return -1;
}

/* Waits for the next message: 1 if there is one, 0 after `milliseconds` (-1: no limit), -1 when the manager has ended,
 * with the reason in m->error. Messages that were sent before the end still come. */
static inline int hemiola_manager_next(hemiola_manager_t *m, int milliseconds) {
    struct timespec now;
    int64_t until = 0, at;
    if (!m->base) return -1;
    clock_gettime(CLOCK_MONOTONIC, &now);
    until = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + milliseconds;
    for (;;) {
        uint32_t seen = hemiola_manager_load_(m, 64);
        int taken = hemiola_manager_take_(m);
        if (taken < 0) return hemiola_manager_fail_(m, "a message is invalid", NULL);
        if (taken > 0 && m->kind >= HEMIOLA_BIRTHS) return 1;
        if (taken > 0) continue;
        if (m->gone) return -1;
        if (hemiola_manager_has_ended_(m)) {
            m->gone = 1; /* look once more behind the end */
            continue;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        at = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
        if (milliseconds >= 0 && at >= until) return 0;
        /* The connection is looked at every 100 ms. */
        int64_t wait = milliseconds < 0 || until - at > 100 ? 100 : until - at;
        struct timespec limit = {0, (long)wait * 1000000};
        syscall(SYS_futex, m->base + 64, FUTEX_WAIT, seen, &limit, NULL, 0);
    }
}

/* The number of an entity of the message. */
static inline unsigned long long hemiola_entity(const hemiola_manager_t *m, uint32_t at) {
    uint64_t entity = 0;
    if (at < m->count) memcpy(&entity, m->body + 8 * (size_t)at, 8);
    return entity;
}

/* The values of a column of births or rows, one for each entity; NULL if there is no such column. Values of a boolean
 * have 1 byte, of an integer (int32_t) and a real32 (float) 4, of a real (double) 8, of a text `width`. */
static inline const void *hemiola_column(const hemiola_manager_t *m, uint32_t column) {
    size_t at = 8 * (size_t)m->count;
    if (column >= m->columns || (m->kind != HEMIOLA_BIRTHS && m->kind != HEMIOLA_ROWS)) return NULL;
    for (uint32_t n = 0; n < column; n++) at += hemiola_manager_padded_((size_t)m->column[n].width * m->count);
    return m->body + at;
}

#ifdef __cplusplus
}
#endif

#endif
