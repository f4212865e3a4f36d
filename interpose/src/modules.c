#define _GNU_SOURCE
#include "modules.h"

#include "recording.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { MT_MODULES = 1024 };

static struct {
    uint64_t start, end;
} known[MT_MODULES];
static _Atomic int known_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_known(uint64_t address)
{
    int n = atomic_load_explicit(&known_count, memory_order_acquire);
    for (int i = 0; i < n; i++)
        if (address >= known[i].start && address < known[i].end)
            return true;
    return false;
}

typedef struct build_id {
    const unsigned char *bytes;
    uint32_t length;
} build_id;

// Whether the loader has mapped all of a segment: a note need not be in memory.
static bool is_mapped(const struct dl_phdr_info *info, const ElfW(Phdr) *segment)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && segment->p_vaddr >= p->p_vaddr &&
            segment->p_vaddr - p->p_vaddr <= p->p_memsz &&
            segment->p_memsz <= p->p_memsz - (segment->p_vaddr - p->p_vaddr))
            return true;
    }
    return false;
}

static build_id find_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) *segment)
{
    const char *note = (const char *)(uintptr_t)(info->dlpi_addr + segment->p_vaddr), *end = note + segment->p_memsz;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)note;
        const char *name = note + sizeof *n, *desc = name + ((n->n_namesz + 3) & ~3u);
        if (desc + n->n_descsz > end)
            break;
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
            return (build_id){(const unsigned char *)desc, n->n_descsz};
        note = desc + ((n->n_descsz + 3) & ~3u);
    }
    return (build_id){NULL, 0};
}

static void record_module(const mt_l_module *m, build_id id, const char *path)
{
    uint64_t length = strlen(path);
    mt_l_module *record = mt_log_begin(sizeof *record + id.length + length);
    if (!record)
        return;
    mt_l_record head = record->record;
    *record = *m;
    record->record = head;
    record->build_id_length = id.length;
    record->path_length = (uint32_t)length;
    char *text = (char *)(record + 1);
    if (id.length)
        memcpy(text, id.bytes, id.length);
    memcpy(text + id.length, path, length);
    mt_log_commit(record, MT_RECORD_MODULE);
}

static int visit(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    mt_l_module m = {.bias = info->dlpi_addr, .start = UINT64_MAX};
    build_id id = {NULL, 0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD) {
            m.start = start < m.start ? start : m.start;
            m.end = start + p->p_memsz > m.end ? start + p->p_memsz : m.end;
        } else if (p->p_type == PT_NOTE && !id.bytes && is_mapped(info, p)) {
            id = find_build_id(info, p);
        }
    }
    int n = atomic_load_explicit(&known_count, memory_order_relaxed);
    if (m.start >= m.end || is_known(m.start) || n == MT_MODULES)
        return 0;
    char self[4096];
    const char *path = info->dlpi_name;
    if (!path || !*path) { // the program itself has no name here
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        self[length > 0 ? length : 0] = 0;
        path = self;
    }
    known[n].start = m.start;
    known[n].end = m.end;
    atomic_store_explicit(&known_count, n + 1, memory_order_release);
    record_module(&m, id, path);
    return 0;
}

void mt_modules_scan(void)
{
    pthread_mutex_lock(&lock);
    dl_iterate_phdr(visit, NULL);
    pthread_mutex_unlock(&lock);
}

void mt_modules_meet(uint64_t address)
{
    static _Atomic uint64_t stranger; // generated code belongs to no module
    if (address & MT_STACK_SITE || is_known(address) || atomic_load_explicit(&stranger, memory_order_relaxed) == address)
        return;
    mt_modules_scan();
    if (!is_known(address))
        atomic_store_explicit(&stranger, address, memory_order_relaxed);
}
