/* Three jobs of one task, in C and in C++; the same as in program.py and in foreign.rs. */
#include "hemiola_mark.h"

#include <stdio.h>

/* Overwrites the sizes in the header of the memory, as any program that is recorded could; then marks. */
static int resized(void) {
    const uint32_t size = 0x40000000;
    char path[64] = {0};
    hemiola_task_t control;
    int fd;
    if (!hemiola_is_recorded()) return 1;
    strncpy(path, getenv("HEMIOLA_TRACE"), sizeof path - 1);
    path[strcspn(path, ":")] = 0;
    fd = open(path, O_WRONLY);
    if (pwrite(fd, &size, 4, 12) != 4 || pwrite(fd, &size, 4, 20) != 4) return 1;
    control = hemiola_task("control", 0, 0);
    hemiola_begin(&control, 0);
    hemiola_start();
    return 0;
}

/* Marks with more names than a task can have; the same as in program.py and in foreign.rs. */
static int names(void) {
    static char name[40][16];
    hemiola_task_t task = hemiola_task("many", 1000000, 500000);
    int index;
    for (index = 0; index < 40; index++) {
        snprintf(name[index], sizeof name[index], "name-%d", index);
        hemiola_mark(&task, name[index], index);
    }
    hemiola_mark(&task, name[0], 0);
    hemiola_mark(&task, name[39], 39);
    return 0;
}

/* Marks with names in one buffer, among them two that agree in the part that is kept. */
static int buffer(void) {
    char name[64];
    hemiola_task_t task = hemiola_task("control", 0, 0);
    int index;
    for (index = 0; index < 6; index++) {
        snprintf(name, sizeof name, "sensor-%d", index % 3);
        hemiola_mark(&task, name, index);
    }
    for (; index < 8; index++) {
        snprintf(name, sizeof name, "a name of exactly thirty-two bytes and %d", index);
        hemiola_mark(&task, name, index);
    }
    return 0;
}

/* Marks with names that agree in the part that is kept; the same as in program.py and in foreign.rs. */
static int alike(void) {
    hemiola_task_t task = hemiola_task("alike", 0, 0);
    hemiola_mark(&task, "a name of exactly thirty-two bytes", 1);
    hemiola_mark(&task, "a name of exactly thirty-two bytes and more", 2);
    hemiola_mark(&task, "thirty-one bytes and a half one\xc3\xbc", 3);
    hemiola_mark(&task, "thirty-one bytes and a half one\xe4\xb8\xad", 4);
    hemiola_mark(&task, "front\0back", 5);
    hemiola_mark(&task, "front\0other", 6);
    return 0;
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "names") == 0) return names();
    if (count > 1 && strcmp(arguments[1], "alike") == 0) return alike();
    if (count > 1 && strcmp(arguments[1], "buffer") == 0) return buffer();
    if (count > 1 && strcmp(arguments[1], "resized") == 0) return resized();
    hemiola_task_t control = hemiola_task("control", 1000000, 500000);
    hemiola_task_t other = hemiola_task("\xc3\xbc" "berlanger Name von mehr als 31 Bytes", 0, 0);
    uint64_t release;
    if (!hemiola_is_recorded()) puts("not recorded");
    hemiola_start();
    for (release = 1000; release <= 3000; release += 1000) {
        hemiola_begin(&control, release);
        hemiola_mark(&control, "sensor", release / 1000);
        hemiola_mark(&control, "actuator", 7);
        hemiola_end(&control);
        hemiola_end(&control);
    }
    hemiola_mark(&other, "real", 0.5);
    hemiola_mark(&other, "real", -0.25f);
    hemiola_mark(&other, "whole", -3);
    hemiola_mark(&other, "whole", UINT64_MAX);
    hemiola_mark(&other, "text", "f\xc3\xbcnfzehn Zeichen und mehr");
    hemiola_begin(&other, 0);
    hemiola_end(&other);
    hemiola_trigger("enough");
    hemiola_stop();
    hemiola_task_close(&control);
    hemiola_mark(&control, "sensor", 99);
    return 0;
}
