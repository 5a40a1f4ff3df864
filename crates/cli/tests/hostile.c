/* A unit that becomes hostile: hostile KIND AFTER, where AFTER is the number of good answers before. It keeps the unit
 * contract of docs/guide/units.md and always asks for 0 V until then. */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct sensors { uint32_t magic; uint16_t version, length; uint64_t sequence, release_ns, sampled_ns;
                 double position, angle, applied; uint32_t period_us, check; };
struct command { uint32_t magic; uint16_t version, length; uint64_t sequence; uint32_t unit, flags;
                 double volts; uint64_t stamp_ns; uint32_t zero, check; };

static unsigned char *attach(const char *variable, int protection) {
    unsigned char *base = mmap(NULL, 192, protection, MAP_SHARED, atoi(getenv(variable)), 0);
    uint32_t *header = (uint32_t *)base;
    size_t stride = ((size_t)header[3] + 8 + 63) / 64 * 64;
    return mmap(NULL, 192 + header[4] * stride, protection, MAP_SHARED, atoi(getenv(variable)), 0);
}

static unsigned char *slot(unsigned char *base, uint32_t n) {
    uint32_t *header = (uint32_t *)base;
    return base + 192 + n % header[4] * (((size_t)header[3] + 8 + 63) / 64 * 64);
}

static uint64_t clock_now(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void spin(uint64_t nanos) {
    uint64_t end = clock_now(CLOCK_THREAD_CPUTIME_ID) + nanos;
    while (clock_now(CLOCK_THREAD_CPUTIME_ID) < end) {}
}

static void raise_priority(void) {
    struct sched_param highest = {99};
    sched_setscheduler(0, SCHED_FIFO, &highest);
}

int main(int count, char **words) {
    if (count != 3) return 2;
    const char *kind = words[1];
    int after = atoi(words[2]);
    unsigned char *in = attach("HEMIOLA_SENSORS_FD", PROT_READ);
    unsigned char *out = attach("HEMIOLA_COMMAND_FD", PROT_READ | PROT_WRITE);
    _Atomic uint32_t *heard = (_Atomic uint32_t *)(in + 64), *said = (_Atomic uint32_t *)(out + 64);
    uint32_t unit = (uint32_t)strtoul(getenv("HEMIOLA_UNIT"), NULL, 10);
    uint32_t seen = 0, n;
    for (int answers = 0;; answers++, seen = n) {
        while ((n = *heard) == seen) syscall(SYS_futex, heard, FUTEX_WAIT, seen, NULL, NULL, 0);
        struct sensors y;
        memcpy(&y, slot(in, n) + 8, sizeof y);
        struct command u = {0x444E4D43, 1, 48, y.sequence, unit, 0, 0, clock_now(CLOCK_MONOTONIC), 0, 0};
        int is_hostile = answers >= after, is_garbled = 0;
        if (is_hostile) {
            if (!strcmp(kind, "spins")) for (;;) {}
            if (!strcmp(kind, "spins-3.9ms")) spin(3900000);
            if (!strcmp(kind, "raises-priority")) { raise_priority(); for (;;) {} }
            if (!strcmp(kind, "sleeps")) for (;;) pause();
            if (!strcmp(kind, "stops-itself")) raise(SIGSTOP);
            if (!strcmp(kind, "exits")) return 3;
            if (!strcmp(kind, "segfaults")) raise(SIGSEGV);
            if (!strcmp(kind, "nan")) u.volts = NAN;
            if (!strcmp(kind, "infinite")) u.volts = INFINITY;
            if (!strcmp(kind, "out-of-range")) u.volts = 100;
            if (!strcmp(kind, "stale")) u.sequence -= 1;
            if (!strcmp(kind, "ahead")) u.sequence += 1000;
            if (!strcmp(kind, "wrong-unit")) u.unit += 1;
            if (!strcmp(kind, "garbage")) is_garbled = 1;
            if (!strcmp(kind, "forks") && answers == after && fork() == 0) { raise_priority(); for (;;) {} }
        }
        u.check = 0x811C9DC5;
        for (int i = 0; i < 44; i++) u.check = (u.check ^ ((unsigned char *)&u)[i]) * 0x01000193;
        uint32_t next = *said + 1, length = sizeof u;
        atomic_thread_fence(memory_order_release);
        memcpy(slot(out, next), &length, 4);
        memcpy(slot(out, next) + 4, &next, 4);
        memcpy(slot(out, next) + 8, &u, sizeof u);
        if (is_garbled) memset(slot(out, next) + 8, 0xA5, sizeof u);
        *said = next;
        syscall(SYS_futex, said, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}
