/* check UNIT [ARGUMENTS]: does this program keep the unit contract (docs/guide/units.md), and does it balance?
 *
 * Plays the runner's part for one unit, in lock step and as fast as the unit answers: two memfd segments handed down by
 * descriptor, the non-linear pendulum of the ladder example behind a 12-bit converter, 30 simulated seconds at 50 Hz.
 * Along the way it sends a damaged message, which must not be answered, and ten messages while the unit is stopped, of
 * which only the newest is to be answered.
 * Prints one line and ends with 0 if the unit is sound. Time is asserted nowhere: an answer may take 10 s.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 4, STRIDE = 128, PERIOD_US = 20000, CYCLES = 1500, UNIT = 7 };

struct sensors { uint32_t magic; uint16_t version, length; uint64_t sequence, release_ns, sampled_ns;
                 double position, angle, applied; uint32_t period_us, check; };
struct command { uint32_t magic; uint16_t version, length; uint64_t sequence; uint32_t unit, flags;
                 double volts; uint64_t stamp_ns; uint32_t zero, check; };

struct segment { int fd; unsigned char *base; size_t stride; };

static pid_t child;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("check: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    if (child > 0) kill(child, SIGKILL);
    exit(1);
}

static uint32_t fnv1a(const void *bytes, size_t length) {
    uint32_t hash = 0x811C9DC5;
    for (size_t i = 0; i < length; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x01000193;
    return hash;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct segment create(const char *name, uint32_t slot_size) {
    struct segment s = {memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), NULL, (slot_size + 8 + 63) / 64 * 64};
    size_t size = 192 + SLOTS * s.stride;
    if (s.fd < 0 || ftruncate(s.fd, (off_t)size) != 0) fail("memfd: %s", strerror(errno));
    s.base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
    if (s.base == MAP_FAILED) fail("mmap: %s", strerror(errno));
    memcpy(s.base, (uint32_t[]){0x314D4548, 1, 1, slot_size, SLOTS}, 20);
    fcntl(s.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    return s;
}

static _Atomic uint32_t *published(const struct segment *s) { return (_Atomic uint32_t *)(s->base + 64); }

static _Atomic uint32_t *slot(const struct segment *s, uint32_t n) {
    return (_Atomic uint32_t *)(s->base + 192 + n % SLOTS * s->stride);
}

static void publish(const struct segment *s, const struct sensors *y) {
    uint32_t n = *published(s) + 1;
    atomic_thread_fence(memory_order_release);
    slot(s, n)[1] = n;
    slot(s, n)[0] = sizeof *y;
    memcpy(slot(s, n) + 2, y, sizeof *y);
    *published(s) = n;
    syscall(SYS_futex, published(s), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Waits until the unit has published more than `seen`, or `limit_ms` have passed (false). */
static int answered(const struct segment *s, uint32_t seen, int limit_ms) {
    uint64_t until = now_ns() + (uint64_t)limit_ms * 1000000;
    while (*published(s) == seen) {
        if (now_ns() >= until) return 0;
        if (waitpid(child, NULL, WNOHANG) == child) child = 0, fail("the unit ended by itself");
        struct timespec step = {0, 20000000};
        syscall(SYS_futex, published(s), FUTEX_WAIT, seen, &step, NULL, 0);
    }
    return 1;
}

static void start(char **arguments, const struct segment *in, const struct segment *out) {
    char path[64], number[16];
    snprintf(path, sizeof path, "/proc/self/fd/%d", in->fd);
    int sensors = open(path, O_RDONLY | O_CLOEXEC), command = out->fd; /* read only: the kernel holds the unit to it */
    if (sensors < 0) fail("%s: %s", path, strerror(errno));
    child = fork();
    if (child != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fcntl(sensors, F_SETFD, 0), fcntl(command, F_SETFD, 0);
    snprintf(number, sizeof number, "%d", sensors), setenv("HEMIOLA_SENSORS_FD", number, 1);
    snprintf(number, sizeof number, "%d", command), setenv("HEMIOLA_COMMAND_FD", number, 1);
    snprintf(number, sizeof number, "%d", UNIT), setenv("HEMIOLA_UNIT", number, 1);
    snprintf(number, sizeof number, "%d", PERIOD_US * 1000), setenv("HEMIOLA_PERIOD_NS", number, 1);
    execvp(arguments[0], arguments);
    fprintf(stderr, "check: %s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

/* x = position, speed, angle, angular rate; u = motor voltage; a rod of mass m, length l on a cart (M with the rod). */
static void derivative(const double x[4], double u, double d[4]) {
    const double m = 0.230, l = 0.6577, M = 0.7872, Bl = 1.193, Bb = 6.731, Bt = 0.00115, g = 9.80;
    double force = Bl * u - Bb * x[1] + m * l * x[3] * x[3] * sin(x[2]) / 2;
    double torque = m * g * l * sin(x[2]) / 2 - Bt * x[3];
    double coupling = m * l * cos(x[2]) / 2, D = M * m * l * l / 3 - coupling * coupling;
    d[0] = x[1], d[1] = (m * l * l / 3 * force - coupling * torque) / D;
    d[2] = x[3], d[3] = (M * torque - coupling * force) / D;
}

static void step(double x[4], double u, double h) { /* Runge-Kutta, order 4 */
    static const double at[4] = {0, 0.5, 0.5, 1}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    double k[4] = {0}, point[4], sum[4] = {0};
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < 4; i++) point[i] = x[i] + h * at[s] * k[i];
        derivative(point, u, k);
        for (int i = 0; i < 4; i++) sum[i] += weight[s] * k[i];
    }
    for (int i = 0; i < 4; i++) x[i] += h * sum[i];
}

int main(int count, char **arguments) {
    if (count < 2) fail("usage: check UNIT [ARGUMENTS]");
    struct segment in = create("sensors", sizeof(struct sensors)), out = create("command", sizeof(struct command));
    start(arguments + 1, &in, &out);
    double x[4] = {0.05, 0, 0.03, 0}, volts = 0, farthest = 0, steepest = 0;
    for (uint64_t cycle = 0, sequence = 0; cycle < CYCLES; cycle++, sequence++) {
        struct sensors y = {0x53494E53, 1, 64, sequence, now_ns(), now_ns(), round(x[0] / 0.0002273) * 0.0002273,
                            round(x[2] / 0.000303) * 0.000303, volts, PERIOD_US, 0};
        y.check = fnv1a(&y, 60);
        uint32_t before = *published(&out);
        if (cycle == 100) { /* one bit of the angle flipped: silence is the only right answer */
            struct sensors damaged = y;
            damaged.angle = -damaged.angle + 0.5;
            publish(&in, &damaged);
            if (answered(&out, before, 300)) fail("the unit answered a message whose check sum is wrong");
        }
        int stop = cycle == 200, status;
        if (stop && (kill(child, SIGSTOP) != 0 || waitpid(child, &status, WUNTRACED) != child)) fail("cannot stop it");
        for (int more = stop ? 9 : 0; more > 0; more--) {
            publish(&in, &y);
            y.sequence = ++sequence, y.check = fnv1a(&y, 60);
        }
        publish(&in, &y);
        if (stop) kill(child, SIGCONT);
        if (!answered(&out, before, 10000)) fail("no answer to sensors %llu within 10 s", (unsigned long long)sequence);
        struct command u;
        memcpy(&u, slot(&out, *published(&out)) + 2, sizeof u);
        if (*published(&out) != before + 1) fail("%u commands for one message", *published(&out) - before);
        if (slot(&out, before + 1)[0] != 48 || slot(&out, before + 1)[1] != before + 1) fail("slot length or number");
        if (u.magic != 0x444E4D43 || u.version != 1 || u.length != 48) fail("magic, version or length of the command");
        if (u.check != fnv1a(&u, 44)) fail("check sum of the command");
        if (u.sequence != sequence) fail("answers %lld cycles too early", (long long)(sequence - u.sequence));
        if (u.unit != UNIT || u.flags != 0 || u.zero != 0) fail("unit number, flags or padding of the command");
        if (u.stamp_ns < y.sampled_ns || u.stamp_ns > now_ns()) fail("the stamp is not on CLOCK_MONOTONIC");
        if (!isfinite(u.volts) || fabs(u.volts) > 4.95) fail("%f V", u.volts);
        volts = u.volts;
        for (int i = 0; i < 20; i++) step(x, volts, 0.001);
        farthest = fmax(farthest, fabs(x[0])), steepest = fmax(steepest, fabs(x[2]));
        if (fabs(x[0]) > 0.407 || fabs(x[2]) > 0.52) fail("the pendulum fell after %.2f s", (double)cycle * 0.02);
    }
    if (fabs(x[0]) > 0.02 || fabs(x[2]) > 0.02) fail("does not settle: %.3f m, %.3f rad", x[0], x[2]);
    kill(child, SIGTERM);
    int status = 0;
    if (waitpid(child, &status, 0) != child) fail("waitpid: %s", strerror(errno));
    if (status != 0 && !WIFSIGNALED(status)) fail("SIGTERM ends it with status %d", WEXITSTATUS(status));
    printf("sound: %d commands; the pendulum was at most %.3f m and %.3f rad away\n", CYCLES, farthest, steepest);
}
