/* A replacement unit in C that balances the pendulum at 50 Hz under the unit contract (docs/guide/units.md). */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct sensors { uint32_t magic; uint16_t version, length; uint64_t sequence, release_ns, sampled_ns;
                 double position, angle, applied; uint32_t period_us, check; };
struct command { uint32_t magic; uint16_t version, length; uint64_t sequence; uint32_t unit, flags;
                 double volts; uint64_t stamp_ns; uint32_t zero, check; };
_Static_assert(sizeof(struct sensors) == 64 && sizeof(struct command) == 48, "the sizes of the messages as documented");

struct segment { unsigned char *base; _Atomic uint32_t *published; uint32_t slot_count; size_t stride; };

static void fail(const char *why) { fprintf(stderr, "unit: %s\n", why); exit(2); }

static uint32_t fnv1a(const void *bytes, size_t length) {
    uint32_t hash = 0x811C9DC5;
    for (size_t i = 0; i < length; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x01000193;
    return hash;
}

static struct segment attach(const char *variable, int protection, size_t message) {
    const char *fd = getenv(variable);
    struct stat file;
    if (!fd || fstat(atoi(fd), &file) != 0 || file.st_size < 192) fail(variable);
    unsigned char *base = mmap(NULL, (size_t)file.st_size, protection, MAP_SHARED, atoi(fd), 0);
    if (base == MAP_FAILED) fail(variable);
    const uint32_t *header = (const uint32_t *)base; /* magic, version, kind, slot size, slot count */
    struct segment s = {base, (_Atomic uint32_t *)(base + 64), header[4], ((size_t)header[3] + 8 + 63) / 64 * 64};
    if (header[0] != 0x314D4548 || header[1] != 1 || header[2] != 1 || header[3] < message || s.slot_count < 2 ||
        (size_t)file.st_size < 192 + s.slot_count * s.stride) fail("not a segment of newest values, version 1");
    return s;
}

static _Atomic uint32_t *slot(const struct segment *s, uint32_t n) { /* length, number, then the payload */
    return (_Atomic uint32_t *)(s->base + 192 + n % s->slot_count * s->stride);
}

static int read_whole(const struct segment *s, uint32_t n, struct sensors *y) { /* false if overtaken or invalid */
    memcpy(y, slot(s, n) + 2, sizeof *y);
    atomic_thread_fence(memory_order_acquire);
    return *s->published - n < s->slot_count - 1 && y->magic == 0x53494E53 && y->version == 1 &&
           y->length == 64 && y->check == fnv1a(y, 60);
}

static void publish(const struct segment *s, const struct command *u) {
    uint32_t n = *s->published + 1;
    if (n == 0) n = s->slot_count; /* 0 means "nothing yet"; this number has the same slot */
    atomic_thread_fence(memory_order_release);
    slot(s, n)[1] = n;
    slot(s, n)[0] = sizeof *u;
    memcpy(slot(s, n) + 2, u, sizeof *u);
    *s->published = n; /* from here on the whole message is visible */
    syscall(SYS_futex, s->published, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static double control(double x[4], const struct sensors *y) { /* an observer of the speeds, then u = K x; for 20 ms */
    static const double Ad[4][4] = {{1, 0.0179612, -0.0005123, -0.00000267}, {0, 0.80325825, -0.04946973, -0.00043495},
                                    {0, 0.00464238, 1.00563313, 0.02002901}, {0, 0.44828889, 0.55966261, 1.00477181}};
    static const double Bd[4] = {0.00036121, 0.0348566, -0.00082748, -0.07992259}, K[4] = {3.16, 19.85, 69.92, 14.38};
    static const double L[4][2] = {{0.63815, 0.01027}, {14.1254, 0.25596}, {0.04106, 0.79146}, {7.51415, 26.06771}};
    double next[4], volts = 0;
    for (int i = 0; i < 4; i++)
        next[i] = Ad[i][0] * x[0] + Ad[i][1] * x[1] + Ad[i][2] * x[2] + Ad[i][3] * x[3] + Bd[i] * y->applied;
    double position = y->position - next[0], angle = y->angle - next[2];
    for (int i = 0; i < 4; i++) volts += K[i] * (x[i] = next[i] + L[i][0] * position + L[i][1] * angle);
    return fmax(-4.95, fmin(4.95, volts));
}

int main(void) {
    struct segment in = attach("HEMIOLA_SENSORS_FD", PROT_READ, sizeof(struct sensors));
    struct segment out = attach("HEMIOLA_COMMAND_FD", PROT_READ | PROT_WRITE, sizeof(struct command));
    const char *unit = getenv("HEMIOLA_UNIT"), *period = getenv("HEMIOLA_PERIOD_NS");
    if (!unit || !period || atoll(period) != 20000000) fail("needs HEMIOLA_UNIT, and a period of 20 ms");
    double x[4] = {0};
    struct sensors y;
    for (uint32_t seen = 0, n, started = 0;; seen = n) { /* until SIGTERM */
        while ((n = *in.published) == seen) syscall(SYS_futex, in.published, FUTEX_WAIT, seen, NULL, NULL, 0);
        if (!read_whole(&in, n, &y)) continue; /* wait for the next one */
        if (!started++) x[0] = y.position, x[2] = y.angle;
        struct command u = {0x444E4D43, 1, 48, y.sequence, (uint32_t)atoll(unit), 0, control(x, &y), 0, 0, 0};
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        u.stamp_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        u.check = fnv1a(&u, 44);
        publish(&out, &u);
    }
}
