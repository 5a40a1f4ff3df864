/* A manager for the tests: `read N`, `deaf`, `scribble`, `silent`. Column 0 is an age that grows by 1 in each step. */
#include "hemiola_manager.h"

#include <signal.h>

#define IDS (1u << 20)
static struct { unsigned char known, dead; int32_t age; uint64_t step; } fish[IDS];

static void check(int holds, const char *rule, unsigned long long entity) {
    if (holds) return;
    printf("not kept: %s, entity %llu\n", rule, entity);
    exit(3);
}

/* Each value must be the one of its step, however late it comes. */
static void note(const hemiola_manager_t *m) {
    const int32_t *age = (const int32_t *)hemiola_column(m, 0);
    for (uint32_t i = 0; i < m->count; i++) {
        unsigned long long id = hemiola_entity(m, i);
        check(id > 0 && id < IDS, "a number of an entity", id);
        if (m->kind == HEMIOLA_DEATHS) {
            check(fish[id].known && !fish[id].dead, "only known entities die, once", id);
            fish[id].dead = 1;
            continue;
        }
        check(fish[id].known == (m->kind == HEMIOLA_ROWS) && !fish[id].dead, "birth, rows, death", id);
        if (m->kind == HEMIOLA_ROWS)
            check(age[i] - fish[id].age == (int32_t)(m->step - fish[id].step), "a value of its step", id);
        fish[id].known = 1;
        fish[id].age = age[i];
        fish[id].step = m->step;
    }
}

int main(int count, char **arguments) {
    static hemiola_manager_t m;
    hemiola_manager_options_t options = {"in C", NULL, 0, 1};
    const char *mode = count > 2 ? arguments[2] : "read";
    long steps = count > 3 ? atol(arguments[3]) : 60, complete = 0, rows = 0;
    if (hemiola_manager_register(&m, arguments[1], &options) != 0) {
        printf("refused: %s\n", m.error);
        return 1;
    }
    printf("registered\n");
    fflush(stdout);
    if (strcmp(mode, "deaf") == 0) for (;;) pause();
    if (strcmp(mode, "silent") == 0) raise(SIGKILL);
    if (strcmp(mode, "scribble") == 0) {
        uint32_t random = 1;
        for (;;)
            for (size_t at = 0; at + 4 <= m.length; at += 4) {
                random = random * 1664525 + 1013904223;
                *(volatile uint32_t *)(void *)(m.base + at) = random;
                char said[512];
                ssize_t length = at % 4096 ? -1 : recv(m.socket, said, sizeof said - 1, MSG_DONTWAIT);
                if (length >= 0) {
                    said[length] = 0;
                    printf("%s", said);
                    return 0;
                }
            }
    }
    while (hemiola_manager_next(&m, -1) > 0) {
        if (m.kind == HEMIOLA_STEP) complete++;
        else note(&m);
        rows += m.kind == HEMIOLA_ROWS ? (long)m.count : 0;
        if (complete == steps && m.left == 0) {
            printf("complete: %ld rows\n", rows);
            return 0;
        }
    }
    printf("ended: %s\n", m.error);
    return 0;
}
