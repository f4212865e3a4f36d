#include "info.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "list.h"

// Longer than any text of a library. A larger length was not set by the library.
enum { MAX_TEXT = 1 << 20 };

static char *allocate_text(int *size)
{
    if (*size < 1 || *size > MAX_TEXT)
        *size = 1;
    char *text = calloc(1, (size_t)*size + 1);
    if (!text)
        _exit(2);
    return text;
}

bool info_ask_again(struct info *info)
{
    if (info->name)
        return false;
    info->name = allocate_text(&info->name_size);
    info->description = allocate_text(&info->description_size);
    return true;
}

void info_start(struct line *l, const char *kind, int index, struct info *info)
{
    line_start(l, kind);
    line_number(l, "index", index);
    line_text(l, "name", info->name);
    line_text(l, "about", info->description);
    free(info->name);
    free(info->description);
}

static void line_id(struct line *l, const char *key, MPI_T_enum items)
{
    char text[32];
    snprintf(text, sizeof text, "%jx", (uintmax_t)(uintptr_t)items);
    line_text(l, key, text);
}

void line_enum(struct line *l, MPI_T_enum items)
{
    if (items != MPI_T_ENUM_NULL)
        line_id(l, "enum", items);
}

static void line_items(struct line *l, MPI_T_enum items, int n)
{
    for (int i = 0; i < n; i++) {
        int value = 0, size = 0;
        if (failed(mpi.T_enum_get_item(items, i, &value, NULL, &size), "MPI_T_enum_get_item"))
            continue;
        char *name = allocate_text(&size);
        if (!failed(mpi.T_enum_get_item(items, i, &value, name, &size), "MPI_T_enum_get_item")) {
            line_number(l, "value", value);
            line_text(l, "item", name);
        }
        free(name);
    }
}

void list_enum(MPI_T_enum items)
{
    static MPI_T_enum *listed;
    static size_t count;
    struct line l = {0};
    int n = 0, size = 0;
    if (items == MPI_T_ENUM_NULL)
        return;
    for (size_t i = 0; i < count; i++)
        if (listed[i] == items)
            return;
    listed = realloc(listed, (count + 1) * sizeof *listed);
    if (!listed)
        _exit(2);
    listed[count++] = items;
    if (failed(mpi.T_enum_get_info(items, &n, NULL, &size), "MPI_T_enum_get_info"))
        return;
    char *name = allocate_text(&size);
    if (!failed(mpi.T_enum_get_info(items, &n, name, &size), "MPI_T_enum_get_info")) {
        line_start(&l, "enum");
        line_id(&l, "id", items);
        line_text(&l, "name", name);
        line_items(&l, items, n);
        list_line(&l);
    }
    free(name);
    free(l.text);
}
