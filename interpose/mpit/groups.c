#include <stdlib.h>
#include <unistd.h>

#include "info.h"
#include "library.h"
#include "list.h"
#include "names.h"

// Writes key=index for each member of a category.
static void line_members(struct line *l, const char *key, int index, int n, int (*get)(int, int, int[]),
                         const char *call)
{
    if (n < 1) // also if the library did not set it
        return;
    int *members = malloc((size_t)n * sizeof *members);
    if (!members)
        _exit(2);
    for (int i = 0; i < n; i++)
        members[i] = UNSET;
    if (!failed(get(index, n, members), call))
        for (int i = 0; i < n; i++)
            line_number_if_set(l, key, members[i]);
    free(members);
}

void list_category(int index)
{
    struct info info = {0};
    struct line l = {0};
    int cvars, pvars, categories;
    do {
        cvars = pvars = categories = UNSET;
        if (failed(mpi.T_category_get_info(index, info.name, &info.name_size, info.description,
                                           &info.description_size, &cvars, &pvars, &categories),
                   "MPI_T_category_get_info"))
            return;
    } while (info_ask_again(&info));
    info_start(&l, "category", index, &info);
    line_members(&l, "cvar", index, cvars, mpi.T_category_get_cvars, "MPI_T_category_get_cvars");
    line_members(&l, "pvar", index, pvars, mpi.T_category_get_pvars, "MPI_T_category_get_pvars");
    line_members(&l, "category", index, categories, mpi.T_category_get_categories, "MPI_T_category_get_categories");
    int events = UNSET;
    if (mpi.T_category_get_num_events && mpi.T_category_get_events &&
        !failed(mpi.T_category_get_num_events(index, &events), "MPI_T_category_get_num_events"))
        line_members(&l, "event", index, events, mpi.T_category_get_events, "MPI_T_category_get_events");
    list_line(&l);
    free(l.text);
}

void list_event(int index)
{
    struct info info = {0};
    struct line l = {0};
    int verbosity, bind, elements = 0;
    MPI_T_enum items;
    MPI_Datatype *types = NULL;
    MPI_Aint *at = NULL;
    do {
        if (info.name && elements > 0) {
            types = calloc((size_t)elements, sizeof *types);
            at = calloc((size_t)elements, sizeof *at);
        }
        verbosity = bind = UNSET;
        items = MPI_T_ENUM_NULL;
        if (failed(mpi.T_event_get_info(index, info.name, &info.name_size, &verbosity, types, at, &elements, &items,
                                        NULL, info.description, &info.description_size, &bind),
                   "MPI_T_event_get_info"))
            return;
    } while (info_ask_again(&info));
    list_enum(items);
    info_start(&l, "event", index, &info);
    line_verbosity(&l, verbosity);
    line_bind(&l, bind);
    line_enum(&l, items);
    for (int i = 0; types && at && i < elements; i++) {
        line_type(&l, "type", types[i]);
        line_number(&l, "at", at[i]);
    }
    list_line(&l);
    free(types);
    free(at);
    free(l.text);
}

void list_source(int index)
{
    struct info info = {0};
    struct line l = {0};
    int order;
    MPI_Count ticks, last;
    do {
        order = UNSET;
        ticks = last = UNSET;
        if (failed(mpi.T_source_get_info(index, info.name, &info.name_size, info.description,
                                         &info.description_size, &order, &ticks, &last, NULL),
                   "MPI_T_source_get_info"))
            return;
    } while (info_ask_again(&info));
    info_start(&l, "source", index, &info);
    line_text(&l, "order", order == MPI_T_SOURCE_ORDERED ? "ordered" : "unordered");
    if (ticks != UNSET)
        line_number(&l, "ticks_per_second", ticks);
    if (last != UNSET)
        line_number(&l, "max_ticks", last);
    list_line(&l);
    free(l.text);
}
