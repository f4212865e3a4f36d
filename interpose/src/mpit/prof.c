#define _GNU_SOURCE
#include "mpit/prof.h"

#include "base/settings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Prints the E lines: the point-to-point messages to each rank, with their number by
// size.
static void print_external(FILE *out, const mt_sums *sums)
{
    fprintf(out, "# POINT TO POINT\n");
    for (int to = 0; to < sums->world; to++) {
        const mt_volume_sum *e = &sums->sent[to];
        if (!e->count)
            continue;
        fprintf(out, "E\t%d\t%d\t%" PRIu64 " bytes\t%" PRIu64 " msgs sent\t", mt_process.world_rank, to, e->bytes,
                e->count);
        for (int i = 0; i < MT_COLUMNS; i++)
            fprintf(out, "%" PRIu64 "%c", sums->sizes[to][i], i + 1 < MT_COLUMNS ? ',' : '\n');
    }
}

static void print_pair(FILE *out, char kind, int to, const mt_volume_sum *sum)
{
    if (sum->count)
        fprintf(out, "%c\t%d\t%d\t%" PRIu64 " bytes\t%" PRIu64 " msgs sent\n", kind, mt_process.world_rank, to,
                sum->bytes, sum->count);
}

// Prints the S and R lines: what this process wrote to each rank, and what it read.
static void print_one_sided(FILE *out, const mt_sums *sums)
{
    fprintf(out, "# OSC\n");
    for (int to = 0; to < sums->world; to++) {
        print_pair(out, 'S', to, &sums->written[to]);
        print_pair(out, 'R', to, &sums->read[to]);
    }
}

static void print_block(FILE *out, const char *class, const mt_volume_sum *sum)
{
    fprintf(out, "%s\t%d\t%" PRIu64 " bytes\t%" PRIu64 " msgs sent\n", class, mt_process.world_rank, sum->bytes,
            sum->count);
}

// Prints a name. Control characters become "?", so that a name cannot break the line.
static void print_name(FILE *out, const char *name)
{
    for (; *name; name++)
        fputc((unsigned char)*name < ' ' || *name == 127 ? '?' : *name, out);
}

static void print_collectives(FILE *out, const mt_sums *sums)
{
    fprintf(out, "# COLLECTIVES\n");
    for (int to = 0; to < sums->world; to++)
        print_pair(out, 'C', to, &sums->collective[to]);
    for (int i = 0; i < sums->comm_count; i++) {
        const mt_comm *c = sums->comms[i];
        fprintf(out, "D\t");
        mt_comm_name name = mt_comm_get_name(c);
        print_name(out, *name.text ? name.text : "(no-name)");
        fprintf(out, "\tprocs: ");
        for (int k = 0; k < c->size; k++)
            fprintf(out, "%s%d", k ? "," : "", c->members ? c->members[k] : c->base + k * c->stride);
        fprintf(out, "\n");
        print_block(out, "O2A", &sums->blocks[i].o2a);
        print_block(out, "A2O", &sums->blocks[i].a2o);
        print_block(out, "A2A", &sums->blocks[i].a2a);
    }
}

// Writes the whole file, or no file. It checks RLIMIT_FSIZE first, because exceeding
// the limit would end the process with SIGXFSZ.
static bool write_file(const char *path, const char *text, size_t size)
{
    struct rlimit limit;
    char part[4200];
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur)
        return false;
    snprintf(part, sizeof part, "%s.part", path);
    unlink(part); // left by an earlier run, or put there so that we write to another file
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    size_t done = 0;
    while (done < size) {
        ssize_t n = write(fd, text + done, size - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    bool whole = close(fd) == 0 && done == size && rename(part, path) == 0;
    if (!whole)
        unlink(part);
    return whole;
}

bool mt_prof_print(const mt_sums *sums, const char *prefix)
{
    char path[4096], *text = NULL;
    size_t size = 0;
    int n = snprintf(path, sizeof path, "%s.%d.prof", prefix, mt_process.world_rank);
    FILE *out = n > 0 && n < (int)sizeof path ? open_memstream(&text, &size) : NULL;
    if (!out)
        return false;
    print_external(out, sums);
    print_one_sided(out, sums);
    print_collectives(out, sums);
    bool whole = fclose(out) == 0 && write_file(path, text, size);
    free(text);
    return whole;
}

void mt_prof_write(void)
{
    const char *prefix = mt_setting_text(MT_SETTING_PROF);
    mt_sums sums;
    if (!prefix)
        return;
    bool taken = mt_sums_compute(&sums, MT_SUM_ALL);
    if (!taken || !mt_prof_print(&sums, prefix))
        mt_log("cannot write %s.%d.prof", prefix, mt_process.world_rank);
    if (taken)
        mt_sums_free(&sums);
}
