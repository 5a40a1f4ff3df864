/* Marks the jobs of a program's tasks for a recorder, and does nothing without one.
 *
 * A program declares its periodic tasks and marks when their jobs begin and end. Under `hemiola trace -- PROGRAM` the
 * marks become part of the recording, beside what the kernel did. Without a recorder, every call is a comparison.
 *
 *     #include "hemiola_mark.h"
 *
 *     hemiola_task_t control = hemiola_task("control", 1000000, 1000000);
 *     for (uint64_t release = hemiola_now(); running; release += 1000000) {
 *         // … sleep until `release` …
 *         hemiola_begin(&control, release);
 *         // … the work …
 *         hemiola_mark(&control, "sensor", value);
 *         hemiola_end(&control);
 *     }
 *     hemiola_task_close(&control);
 *
 * C99 or C++11 with GCC or Clang, on 64-bit Linux, with any -std and before or after other headers; nothing to link.
 * hemiola_task() makes a few system calls. After it, a mark is a clock read and five stores in memory shared with the
 * recorder; it never allocates, blocks or fails. If the recorder falls behind, marks are dropped and counted; if it
 * dies, the program is not affected.
 *
 * All times are nanoseconds on CLOCK_MONOTONIC. A task belongs to the thread that begins its first job. After a fork
 * the child creates its own tasks.
 *
 * The recorder is found through the environment variable HEMIOLA_TRACE, which names the shared memory as one or more
 * paths separated by ':'; the first valid one is used. The layout of the memory is drawn in
 * crates/rt/src/shared/layout.md of Hemiola.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef HEMIOLA_MARK_H
#define HEMIOLA_MARK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#if !defined(__linux__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || __SIZEOF_POINTER__ != 8
#error "hemiola_mark.h is for little-endian 64-bit Linux"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The most mark names of one task; marks with further names are not recorded, and the recorder reports their number. */
#define HEMIOLA_MARK_NAMES 32
/* The most bytes of a name; the rest is cut off, so names that agree in these bytes are the same name. */
#define HEMIOLA_NAME_SIZE 32

/* ---- functions of the C library (glibc 2.17, musl 1.1.24, or later) ----
 *
 * Their headers declare these only under some settings, which a header that was included before has fixed. A function
 * without a declaration returns an int: half of a pointer. A declaration under a name of our own agrees with each. */

struct hemiola_time_ {
    int64_t seconds;
    int64_t nanoseconds;
};
extern char *hemiola_secure_getenv_(const char *name) __asm__("secure_getenv");
extern int hemiola_clock_gettime_(int clock, struct hemiola_time_ *now) __asm__("clock_gettime");
extern long hemiola_syscall_(long number, ...) __asm__("syscall");

#ifdef O_CLOEXEC
#define HEMIOLA_CLOEXEC_ O_CLOEXEC
#else
#define HEMIOLA_CLOEXEC_ 02000000
#endif

/* A task, which runs one job after another, in one thread at a time. Its fields are private. */
typedef struct hemiola_task_t {
    unsigned char *lane; /* null: not recorded */
    uint32_t capacity;
    uint32_t published;
    uint32_t consumed;
    uint32_t jobs;
    uint64_t deadline_ns; /* 0: none */
    uint64_t due_ns;
    uint32_t open;
    uint32_t placed;
    uint32_t names;
    const char *name[HEMIOLA_MARK_NAMES]; /* where each name was when it was first used */
    char name_text[HEMIOLA_MARK_NAMES][HEMIOLA_NAME_SIZE];
} hemiola_task_t;

/* ---- the layout of the memory ---- */

#define HEMIOLA_SLOTS_AT_ 192u
#define HEMIOLA_ENTRIES_AT_ 1216u

struct hemiola_board_ {
    unsigned char *base; /* null: not searched for yet; HEMIOLA_NOBODY_: nothing records this program */
    uint64_t sizes;      /* as checked: slot size below, slots above; set before base, once. The header in the memory
                          * is not read again, for every program that is recorded can write it. */
};
/* One for the whole program, whichever files include this. */
__attribute__((weak)) struct hemiola_board_ hemiola_board_sized_;
#define HEMIOLA_NOBODY_ ((unsigned char *)1)

static inline size_t hemiola_slot_size_(void) {
    return (size_t)(uint32_t)__atomic_load_n(&hemiola_board_sized_.sizes, __ATOMIC_RELAXED);
}

static inline uint32_t hemiola_slots_(void) {
    return (uint32_t)(__atomic_load_n(&hemiola_board_sized_.sizes, __ATOMIC_RELAXED) >> 32);
}

/* Whether the sizes are sound and the slots lie within `length` bytes. */
static inline int hemiola_fits_(uint64_t sizes, size_t length) {
    size_t slot_size = (size_t)(uint32_t)sizes, slots = (size_t)(sizes >> 32);
    return slot_size % 64 == 0 && slot_size >= HEMIOLA_ENTRIES_AT_ + 32 && slots > 0 &&
           slots <= (length - HEMIOLA_SLOTS_AT_) / slot_size;
}

static inline uint32_t *hemiola_u32_(unsigned char *base, size_t at) {
    return (uint32_t *)(void *)(base + at);
}

static inline uint64_t *hemiola_u64_(unsigned char *base, size_t at) {
    return (uint64_t *)(void *)(base + at);
}

static inline uint32_t hemiola_get_(unsigned char *base, size_t at) {
    return __atomic_load_n(hemiola_u32_(base, at), __ATOMIC_RELAXED);
}

static inline void hemiola_put_(unsigned char *base, size_t at, uint32_t value) {
    __atomic_store_n(hemiola_u32_(base, at), value, __ATOMIC_RELAXED);
}

static inline void hemiola_put_wide_(unsigned char *base, size_t at, uint64_t value) {
    __atomic_store_n(hemiola_u64_(base, at), value, __ATOMIC_RELAXED);
}

/* Copies text, filled with zeros, or cut off at a character boundary. */
static inline void hemiola_cut_(unsigned char *bytes, const char *text, size_t size) {
    size_t length = text ? strlen(text) : 0;
    if (length > size) {
        length = size;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
    }
    memset(bytes, 0, size);
    if (length) memcpy(bytes, text, length);
}

static inline void hemiola_put_text_(unsigned char *base, size_t at, const char *text, size_t size) {
    unsigned char bytes[40];
    size_t index;
    hemiola_cut_(bytes, text, size);
    for (index = 0; index < size; index += 8) {
        uint64_t word;
        memcpy(&word, bytes + index, 8);
        hemiola_put_wide_(base, at + index, word);
    }
}

static inline uint32_t hemiola_tid_(void) {
    return (uint32_t)hemiola_syscall_(SYS_gettid);
}

/* Returns a copy of the inherited descriptor that a path names, or -1. */
static inline int hemiola_inherited_(const char *path) {
    static const char folder[] = "/proc/self/fd/";
    int number = 0;
    if (strncmp(path, folder, sizeof folder - 1) != 0) return -1;
    path += sizeof folder - 1;
    if (!*path || strlen(path) > 8) return -1;
    for (; *path; path++) {
        if (*path < '0' || *path > '9') return -1;
        number = number * 10 + (*path - '0');
    }
    return fcntl(number, 1030 /* F_DUPFD_CLOEXEC */, 0);
}

/* Maps the memory at the path of this length; null if it is not valid. */
static inline unsigned char *hemiola_map_(const char *path, size_t length, size_t *size) {
    char name[64];
    unsigned char *base;
    uint64_t sizes, first = 0;
    off_t end;
    int fd, seals;
    if (length == 0 || length >= sizeof name) return NULL;
    memcpy(name, path, length);
    name[length] = 0;
    fd = open(name, O_RDWR | HEMIOLA_CLOEXEC_);
    /* A program that has become another user may not open the memory, but still has the descriptor. */
    if (fd < 0) fd = hemiola_inherited_(name);
    if (fd < 0) return NULL;
    seals = fcntl(fd, 1034 /* F_GET_SEALS */);
    end = lseek(fd, 0, SEEK_END);
    base = NULL;
    /* Memory that could shrink would end the program with SIGBUS. */
    if (seals >= 0 && (seals & 2 /* F_SEAL_SHRINK */) && end >= (off_t)HEMIOLA_SLOTS_AT_) {
        void *found = mmap(NULL, (size_t)end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (found != MAP_FAILED) base = (unsigned char *)found;
    }
    close(fd);
    if (!base) return NULL;
    *size = (size_t)end;
    sizes = hemiola_get_(base, 12) | (uint64_t)hemiola_get_(base, 20) << 32;
    if (hemiola_get_(base, 0) == 0x314D4548u && hemiola_get_(base, 4) == 1 && hemiola_get_(base, 8) == 4 &&
        hemiola_fits_(sizes, *size)) {
        /* Another thread may have found other sizes if the header changed in between: the first ones stay. */
        __atomic_compare_exchange_n(&hemiola_board_sized_.sizes, &first, sizes, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        if (first == 0 || hemiola_fits_(first, *size)) return base;
    }
    munmap(base, *size);
    return NULL;
}

/* Returns the recorder's memory, searched for at the first call; null if nothing records this program. */
static inline unsigned char *hemiola_find_(void) {
    unsigned char *base = __atomic_load_n(&hemiola_board_sized_.base, __ATOMIC_ACQUIRE), *expected = NULL;
    const char *path;
    size_t size = 0;
    if (base) return base == HEMIOLA_NOBODY_ ? NULL : base;
    path = hemiola_secure_getenv_("HEMIOLA_TRACE");
    while (path && *path && !base) {
        size_t length = strcspn(path, ":");
        base = hemiola_map_(path, length, &size);
        path += length + (path[length] == ':');
    }
    if (__atomic_compare_exchange_n(&hemiola_board_sized_.base, &expected, base ? base : HEMIOLA_NOBODY_, 0,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return base;
    /* Another thread searched at the same time and was faster. */
    if (base) munmap(base, size);
    return expected == HEMIOLA_NOBODY_ ? NULL : expected;
}

/* Claims the place at `at` for the calling thread; false if it is not free. */
static inline int hemiola_take_(unsigned char *base, size_t at, uint32_t tid) {
    uint32_t nobody = 0;
    return __atomic_compare_exchange_n(hemiola_u32_(base, at), &nobody, tid, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Adds one to a count that only this thread writes. */
static inline void hemiola_count_(unsigned char *lane, size_t at) {
    uint64_t *count = hemiola_u64_(lane, at);
    __atomic_store_n(count, __atomic_load_n(count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static inline void hemiola_push_(hemiola_task_t *task, uint64_t at, uint64_t what, uint64_t a, uint64_t b) {
    uint64_t entry[4];
    uint32_t number;
    size_t place;
    int index;
    entry[0] = at;
    entry[1] = what | (uint64_t)(task->jobs - 1) << 32;
    entry[2] = a;
    entry[3] = b;
    if (!task->placed) {
        task->placed = 1;
        hemiola_put_(task->lane, 12, hemiola_tid_());
    }
    if (task->published - task->consumed >= task->capacity) {
        task->consumed = __atomic_load_n(hemiola_u32_(task->lane, 128), __ATOMIC_ACQUIRE);
        if (task->published - task->consumed >= task->capacity) {
            hemiola_count_(task->lane, 72);
            return;
        }
    }
    number = task->published + 1;
    place = HEMIOLA_ENTRIES_AT_ + (size_t)(number & (task->capacity - 1)) * 32;
    for (index = 0; index < 4; index++) hemiola_put_wide_(task->lane, place + 8 * (size_t)index, entry[index]);
    __atomic_store_n(hemiola_u32_(task->lane, 64), number, __ATOMIC_RELEASE);
    task->published = number;
}

/* ---- the functions for programs ---- */

/* Returns the time on CLOCK_MONOTONIC. */
static inline uint64_t hemiola_now(void) {
    struct hemiola_time_ now;
    hemiola_clock_gettime_(1 /* CLOCK_MONOTONIC */, &now);
    return (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds;
}

/* Whether there is a recorder. */
static inline int hemiola_is_recorded(void) {
    return hemiola_find_() != NULL;
}

/* Creates a task of that name (at most 32 bytes). The deadline counts from the release; if it is 0, the period is used.
 * A period of 0 means no period; if both are 0, there is no deadline. At most 63 tasks can be marked at one time. */
static inline hemiola_task_t hemiola_task(const char *name, uint64_t period_ns, uint64_t deadline_ns) {
    hemiola_task_t task;
    unsigned char *base = hemiola_find_();
    uint32_t tid = 0, slots = 0, slot;
    size_t slot_size = 0, at;
    memset(&task, 0, sizeof task);
    task.deadline_ns = deadline_ns ? deadline_ns : period_ns;
    if (!base) return task;
    slot_size = hemiola_slot_size_();
    slots = hemiola_slots_();
    tid = hemiola_tid_();
    for (slot = 1; slot < slots && !task.lane; slot++)
        if (hemiola_take_(base, HEMIOLA_SLOTS_AT_ + slot * slot_size, tid))
            task.lane = base + HEMIOLA_SLOTS_AT_ + slot * slot_size;
    if (!task.lane) {
        __atomic_fetch_add(hemiola_u32_(base, 64), 1, __ATOMIC_RELAXED);
        return task;
    }
    hemiola_put_(task.lane, 8, (uint32_t)getpid());
    hemiola_put_(task.lane, 12, tid);
    hemiola_put_wide_(task.lane, 16, period_ns);
    hemiola_put_wide_(task.lane, 24, deadline_ns);
    hemiola_put_text_(task.lane, 32, name, 32);
    /* Make the pages present here rather than during a job. */
    for (at = HEMIOLA_ENTRIES_AT_; at < slot_size; at += 4096)
        __atomic_fetch_or(hemiola_u64_(task.lane, at), 0, __ATOMIC_RELAXED);
    __atomic_fetch_or(hemiola_u64_(task.lane, slot_size - 8), 0, __ATOMIC_RELAXED);
    task.capacity = 1;
    while (task.capacity <= (slot_size - HEMIOLA_ENTRIES_AT_) / 64) task.capacity *= 2;
    task.published = hemiola_get_(task.lane, 64);
    task.consumed = __atomic_load_n(hemiola_u32_(task.lane, 128), __ATOMIC_ACQUIRE);
    __atomic_store_n(hemiola_u32_(task.lane, 4), 1, __ATOMIC_RELEASE);
    return task;
}

/* Begins a job that was released at `release_ns`, or just now if it is 0. Its deadline counts from there. */
static inline void hemiola_begin(hemiola_task_t *task, uint64_t release_ns) {
    uint64_t now;
    if (!task->lane) return;
    now = hemiola_now();
    if (!release_ns) release_ns = now;
    task->open = 1;
    task->jobs++;
    task->due_ns = UINT64_MAX;
    if (task->deadline_ns && release_ns <= UINT64_MAX - task->deadline_ns)
        task->due_ns = release_ns + task->deadline_ns;
    hemiola_push_(task, now, 1, release_ns, 0);
}

/* Ends the running job; does nothing without one. */
static inline void hemiola_end(hemiola_task_t *task) {
    if (!task->lane || !task->open) return;
    task->open = 0;
    hemiola_push_(task, hemiola_now(), 2, task->due_ns, 0);
}

static inline int hemiola_is_name_(const hemiola_task_t *task, uint32_t index, const char *name) {
    return strncmp(task->name_text[index], name, HEMIOLA_NAME_SIZE) == 0;
}

static inline void hemiola_mark_(hemiola_task_t *task, const char *name, uint64_t kind, uint64_t a, uint64_t b) {
    unsigned char kept[HEMIOLA_NAME_SIZE];
    uint32_t index;
    if (!task->lane) return;
    if (!name) name = "";
    /* The same name mostly has the same address. The text is compared too, for a program may build names in a buffer
     * that it uses again. */
    for (index = 0; index < task->names; index++)
        if (task->name[index] == name) break;
    if (index == task->names || !hemiola_is_name_(task, index, name)) {
        hemiola_cut_(kept, name, sizeof kept);
        for (index = 0; index < task->names; index++)
            if (memcmp(task->name_text[index], kept, sizeof kept) == 0) break;
        if (index == HEMIOLA_MARK_NAMES) {
            hemiola_count_(task->lane, 80);
            return;
        }
        if (index == task->names) {
            task->name[index] = name;
            memcpy(task->name_text[index], kept, sizeof kept);
            task->names = index + 1;
            hemiola_put_text_(task->lane, 192 + (size_t)index * 32, name, 32);
            __atomic_store_n(hemiola_u32_(task->lane, 68), task->names, __ATOMIC_RELEASE);
        }
    }
    hemiola_push_(task, hemiola_now(), kind | (uint64_t)index << 16, a, b);
}

/* The four functions below record an event with a name and a value; hemiola_mark chooses one by the value's type. The
 * name is copied. */

static inline void hemiola_mark_unsigned(hemiola_task_t *task, const char *name, uint64_t value) {
    hemiola_mark_(task, name, 16, value, 0);
}

static inline void hemiola_mark_signed(hemiola_task_t *task, const char *name, int64_t value) {
    hemiola_mark_(task, name, 17, (uint64_t)value, 0);
}

static inline void hemiola_mark_real(hemiola_task_t *task, const char *name, double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    hemiola_mark_(task, name, 18, bits, 0);
}

/* The text has at most 16 bytes; the rest is cut off. */
static inline void hemiola_mark_text(hemiola_task_t *task, const char *name, const char *value) {
    unsigned char bytes[16];
    uint64_t words[2];
    hemiola_cut_(bytes, value, sizeof bytes);
    memcpy(words, bytes, sizeof words);
    hemiola_mark_(task, name, 19, words[0], words[1]);
}

/* Ends the task and frees its lane. Later marks of it have no effect. */
static inline void hemiola_task_close(hemiola_task_t *task) {
    if (task->lane && hemiola_get_(task->lane, 8) == (uint32_t)getpid())
        __atomic_store_n(hemiola_u32_(task->lane, 4), 2, __ATOMIC_RELEASE);
    task->lane = NULL;
}

static inline void hemiola_call_(uint32_t what, const char *text) {
    unsigned char *base = hemiola_find_();
    uint64_t now = hemiola_now();
    uint32_t tid, place, places;
    if (!base) return;
    tid = hemiola_tid_();
    places = (uint32_t)(hemiola_slot_size_() / 64);
    if (places > 64) places = 64;
    for (place = 0; place < places; place++) {
        size_t at = HEMIOLA_SLOTS_AT_ + (size_t)place * 64;
        if (!hemiola_take_(base, at, tid)) continue;
        hemiola_put_wide_(base, at + 8, now);
        hemiola_put_(base, at + 16, what);
        hemiola_put_(base, at + 20, (uint32_t)getpid());
        hemiola_put_text_(base, at + 24, text, 40);
        __atomic_store_n(hemiola_u32_(base, at + 4), 1, __ATOMIC_RELEASE);
        return;
    }
    __atomic_fetch_add(hemiola_u32_(base, 68), 1, __ATOMIC_RELAXED);
}

/* Starts or continues the recording. The recorder records from the beginning unless it was told to wait. */
static inline void hemiola_start(void) {
    hemiola_call_(1, "");
}

/* Pauses the recording. */
static inline void hemiola_stop(void) {
    hemiola_call_(2, "");
}

/* Makes a flight recorder keep its recording up to now, with this reason (at most 40 bytes). */
static inline void hemiola_trigger(const char *why) {
    hemiola_call_(3, why);
}

/* Returns a connection to the socket at `place`, or the descriptor N of `fd:N`; -1 if there is none. */
static inline int hemiola_connect_(const char *place) {
    struct sockaddr_un address;
    size_t length = strlen(place);
    int fd;
    if (strncmp(place, "fd:", 3) == 0) {
        char *end;
        long number = strtol(place + 3, &end, 10);
        return end == place + 3 || *end || number < 0 || number > INT32_MAX ? -1 : (int)number;
    }
    if (length >= sizeof address.sun_path) return -1;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, place, length);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)(const void *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

/* Sends a request to the recording that was started with `hemiola trace --control SOCKET`, from any process, recorded
 * or not, and waits for its answer: at most five seconds, usually a tenth of one. Returns 0 if it was carried out,
 * else -1. `place` is the path of the socket, or "fd:N" for the other end of an inherited connection, which one thread
 * uses at a time. Requests are "start", "stop", "mark TEXT", "trigger TEXT" and "snapshot NAME", at most 400 bytes.
 * They count from the time of the call. */
static inline int hemiola_control(const char *place, const char *request) {
    struct timeval limit;
    char line[440], answer[3] = {0, 0, 0}, byte = 0;
    size_t length = 0;
    int fd, count;
    if (strlen(request) > 400 || strchr(request, '\n')) return -1;
    count = snprintf(line, sizeof line, "%llu %s\n", (unsigned long long)hemiola_now(), request);
    fd = hemiola_connect_(place);
    if (fd < 0 || count < 0) return -1;
    limit.tv_sec = 5;
    limit.tv_usec = 0;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (send(fd, line, (size_t)count, MSG_NOSIGNAL) == (ssize_t)count)
        /* To the end of the line, and not beyond it. */
        while (byte != '\n' && recv(fd, &byte, 1, 0) == 1)
            if (length < sizeof answer) answer[length++] = byte;
    if (strncmp(place, "fd:", 3) != 0) close(fd);
    return memcmp(answer, "ok\n", 3) == 0 ? 0 : -1;
}

#ifdef __cplusplus
}

/* Records an event with a name and a value: any number, or a text of at most 16 bytes. Other pointers, which C++ would
 * convert to bool, are errors. */
template <typename Value>
void hemiola_mark(hemiola_task_t *task, const char *name, Value *value) = delete;
#define HEMIOLA_OVERLOAD_(TYPE, WAY, WIDE)                                                        \
    static inline void hemiola_mark(hemiola_task_t *task, const char *name, TYPE value) {         \
        hemiola_mark_##WAY(task, name, static_cast<WIDE>(value));                                 \
    }
HEMIOLA_OVERLOAD_(bool, unsigned, uint64_t)
HEMIOLA_OVERLOAD_(unsigned char, unsigned, uint64_t)
HEMIOLA_OVERLOAD_(unsigned short, unsigned, uint64_t)
HEMIOLA_OVERLOAD_(unsigned int, unsigned, uint64_t)
HEMIOLA_OVERLOAD_(unsigned long, unsigned, uint64_t)
HEMIOLA_OVERLOAD_(unsigned long long, unsigned, uint64_t)
HEMIOLA_OVERLOAD_(char, signed, int64_t)
HEMIOLA_OVERLOAD_(signed char, signed, int64_t)
HEMIOLA_OVERLOAD_(short, signed, int64_t)
HEMIOLA_OVERLOAD_(int, signed, int64_t)
HEMIOLA_OVERLOAD_(long, signed, int64_t)
HEMIOLA_OVERLOAD_(long long, signed, int64_t)
HEMIOLA_OVERLOAD_(float, real, double)
HEMIOLA_OVERLOAD_(double, real, double)
HEMIOLA_OVERLOAD_(long double, real, double)
HEMIOLA_OVERLOAD_(const char *, text, const char *)
HEMIOLA_OVERLOAD_(char *, text, const char *)
#undef HEMIOLA_OVERLOAD_

#else

/* A value without a way below is an error: nothing converts to the type of this argument. */
struct hemiola_no_number_or_text_ {
    int unused;
};
static inline void hemiola_mark_nothing_(hemiola_task_t *task, const char *name,
                                         struct hemiola_no_number_or_text_ value) {
    (void)task;
    (void)name;
    (void)value;
}

/* The way of any other type: _Float16, _Float128 and decimal numbers are real, and enumerations and bit-fields whole.
 * Pointers and whole numbers of more than 64 bits have none. Only a bit-field has no size, but its sum has. */
#define HEMIOLA_OTHER_(value)                                                                     \
    __builtin_choose_expr(                                                                        \
        __builtin_classify_type(value) == 8, hemiola_mark_real,                                   \
        __builtin_choose_expr(__builtin_classify_type(value) != 5 /* a pointer */ &&              \
                                  __builtin_classify_type(value) != 9 /* a complex number */ &&   \
                                  sizeof((value) + 0) <= 8,                                       \
                              hemiola_mark_signed, hemiola_mark_nothing_))

/* Records an event with a name and a value: any number, or a text of at most 16 bytes. */
#define hemiola_mark(task, name, value)                                                           \
    __extension__ _Generic((value),                                                               \
        _Bool: hemiola_mark_unsigned,                                                             \
        unsigned char: hemiola_mark_unsigned,                                                     \
        unsigned short: hemiola_mark_unsigned,                                                    \
        unsigned int: hemiola_mark_unsigned,                                                      \
        unsigned long: hemiola_mark_unsigned,                                                     \
        unsigned long long: hemiola_mark_unsigned,                                                \
        float: hemiola_mark_real,                                                                 \
        double: hemiola_mark_real,                                                                \
        long double: hemiola_mark_real,                                                           \
        char *: hemiola_mark_text,                                                                \
        const char *: hemiola_mark_text,                                                          \
        default: HEMIOLA_OTHER_(value))(task, name, value)

#endif

#endif /* HEMIOLA_MARK_H */
