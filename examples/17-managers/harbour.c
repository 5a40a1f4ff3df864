/* A manager in C that prints how many ships it is told of in each second of the bay. */
#include "hemiola_manager.h"

int main(void) {
    static hemiola_manager_t m;
    hemiola_manager_options_t options = {"harbour in C", NULL, 0, 1};
    unsigned long births = 0, deaths = 0, rows = 0;
    double east = 0;
    if (hemiola_manager_register(&m, "ship:place:near([0,0], [200<m>,200<m>], 1<m>)", &options) != 0) {
        fprintf(stderr, "harbour: %s\n", m.error);
        return 1;
    }
    while (hemiola_manager_next(&m, -1) > 0) {
        if (m.kind == HEMIOLA_BIRTHS) births += m.count;
        if (m.kind == HEMIOLA_DEATHS) deaths += m.count;
        if (m.kind == HEMIOLA_ROWS) {
            const double *x = hemiola_column(&m, 0); /* place[0], of all entities of this message */
            for (uint32_t i = 0; i < m.count; i++) if (x[i] > east) east = x[i];
            rows += m.count;
        }
        if (m.kind == HEMIOLA_STEP && m.step % 60 == 0) {
            printf("step %llu: %lu births, %lu deaths, %lu rows, the farthest at %.0f m, %llu changes to come\n",
                   (unsigned long long)m.step, births, deaths, rows, east, (unsigned long long)m.left);
            fflush(stdout);
        }
    }
    fprintf(stderr, "harbour: %s\n", m.error);
    hemiola_manager_close(&m);
    return 0;
}
