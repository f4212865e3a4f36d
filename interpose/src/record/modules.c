#define _GNU_SOURCE
#include "record/modules.h"

#include "base/lock.h"
#include "file/recording.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

enum { MT_MODULES = 1024 };

// A file that is loaded, or that was unloaded while nothing was recorded.
typedef struct known_module {
    _Atomic uint64_t start, end; // end is 0 while it is not loaded
    uint64_t first, size;        // its addresses, also after it was unloaded
    uint64_t identity;           // hash of name and build id
    const mt_l_module *record;   // NULL: this entry is free
    _Atomic bool used;           // call sites in it have been recorded
    bool seen;                   // the scan that is under way has found it
} known_module;

// Where the sites of an unloaded file were moved to. When the same file is unloaded
// again, they go to the same addresses. So each further loading takes only one record
// in the log.
typedef struct moved_module {
    uint64_t identity, size, start;
} moved_module;

// Written under MT_LOCK_MODULES. Entries of `known` are read without it, up to known_count.
static known_module known[MT_MODULES];
static _Atomic int known_count;
static moved_module moved[MT_MODULES];
static int moved_count;
static uint64_t next_start = MT_UNLOADED;
// The dynamic linker's count of unloaded files when drop_unloaded last looked.
static _Atomic uint64_t unloads;

static known_module *module_of(uint64_t address)
{
    int n = atomic_load_explicit(&known_count, memory_order_acquire);
    for (int i = 0; i < n; i++)
        if (address < atomic_load_explicit(&known[i].end, memory_order_acquire) &&
            address >= atomic_load_explicit(&known[i].start, memory_order_relaxed))
            return &known[i];
    return NULL;
}

typedef struct build_id {
    const unsigned char *bytes;
    uint32_t length;
} build_id;

// Reports whether the loader has mapped all of a segment. A note need not be in memory.
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

static const mt_l_module *record_module(const mt_l_module *m, const void *id, const char *path)
{
    mt_l_module *record = mt_recording_begin(sizeof *record + m->build_id_length + m->path_length);
    if (!record)
        return NULL;
    mt_l_record head = record->record;
    *record = *m;
    record->record = head;
    char *text = (char *)(record + 1);
    if (m->build_id_length)
        memcpy(text, id, m->build_id_length);
    memcpy(text + m->build_id_length, path, m->path_length);
    mt_recording_commit(record, MT_RECORD_MODULE);
    return record;
}

static uint64_t hash(uint64_t h, const void *bytes, uint64_t n)
{
    for (const unsigned char *b = bytes; n > 0; n--)
        h = (h ^ *b++) * 0x100000001b3u;
    return h;
}

// Returns an entry for another module, or NULL.
static known_module *free_entry(void)
{
    int n = atomic_load_explicit(&known_count, memory_order_relaxed);
    for (int i = 0; i < n; i++)
        if (!known[i].record)
            return &known[i];
    return n < MT_MODULES ? &known[n] : NULL;
}

static void register_module(mt_l_module *m, uint64_t identity, build_id id, const char *path)
{
    known_module *k = free_entry();
    m->build_id_length = id.length;
    m->path_length = (uint32_t)strlen(path);
    if (!k || !(k->record = record_module(m, id.bytes, path)))
        return;
    k->first = m->start;
    k->size = m->end - m->start;
    k->identity = identity;
    k->seen = true;
    atomic_store_explicit(&k->used, false, memory_order_relaxed);
    atomic_store_explicit(&k->start, m->start, memory_order_relaxed);
    atomic_store_explicit(&k->end, m->end, memory_order_release);
    if (k == &known[atomic_load_explicit(&known_count, memory_order_relaxed)])
        atomic_fetch_add_explicit(&known_count, 1, memory_order_release);
}

typedef struct module_scan {
    bool adds;        // adds modules that are not known yet
    uint64_t unloads; // the dynamic linker's count of unloaded files
    char self[4096];
} module_scan;

// Returns the path of a file. The dynamic linker has no name for the program itself.
static const char *path_of(const char *name, module_scan *s)
{
    if (*name)
        return name;
    ssize_t length = readlink("/proc/self/exe", s->self, sizeof s->self - 1);
    s->self[length > 0 ? length : 0] = 0;
    return s->self;
}

static int visit_module(struct dl_phdr_info *info, size_t size, void *scan)
{
    (void)size;
    module_scan *s = scan;
    mt_l_module m = {.bias = info->dlpi_addr, .start = UINT64_MAX};
    build_id id = {NULL, 0};
    s->unloads = info->dlpi_subs;
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
    if (m.start >= m.end)
        return 0;
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    uint64_t identity = hash(hash(0xcbf29ce484222325u, name, strlen(name)), id.bytes, id.length);
    known_module *k = module_of(m.start);
    if (k && k->first == m.start && k->size == m.end - m.start && k->identity == identity)
        k->seen = true;
    else if (s->adds && !k)
        register_module(&m, identity, id, path_of(name, s));
    return 0;
}

// Returns the address from which on the sites in a module get their new addresses. The
// file is recorded at this address, unless it is already. Returns 0 if there is no room
// for the record.
static uint64_t place_for_sites(const known_module *k)
{
    for (int i = 0; i < moved_count; i++)
        if (moved[i].identity == k->identity && moved[i].size == k->size && k->record->build_id_length)
            return moved[i].start;
    mt_l_module m = *k->record;
    uint64_t start = next_start, delta = start - m.start;
    m.start += delta;
    m.end += delta;
    m.bias += delta;
    const char *text = (const char *)(k->record + 1);
    if (!record_module(&m, text, text + m.build_id_length))
        return 0;
    next_start += (k->size | 0xffff) + 1;
    if (moved_count < MT_MODULES)
        moved[moved_count++] = (moved_module){k->identity, k->size, start};
    return start;
}

// Moves the sites in an unloaded module. A pending receive keeps the site that posted
// it: these are moved before the rows' sites, so that none is booked at its old
// address.
static void move_sites(known_module *k)
{
    uint64_t start = atomic_load_explicit(&k->used, memory_order_relaxed) ? place_for_sites(k) : 0;
    if (start) {
        mt_move m = {.start = k->first, .size = k->size, .delta = start - k->first};
        MT_EACH_HOOK(pending_sites_move, &m);
        MT_EACH_HOOK(sites_move, &m);
    }
    k->record = NULL;
}

// Visits all loaded files. Returns how many files the dynamic linker has unloaded so
// far.
static uint64_t scan(bool adds)
{
    module_scan s;
    s.adds = adds;
    s.unloads = 0;
    mt_lock_acquired(MT_LOCK_LINKER_LIST);
    dl_iterate_phdr(visit_module, &s);
    mt_lock_released(MT_LOCK_LINKER_LIST);
    return s.unloads;
}

// Forgets the modules that are no longer loaded. While nothing is recorded, the
// recording may not be written to, and they are kept for later.
static void drop_unloaded(bool recording)
{
    int n = atomic_load_explicit(&known_count, memory_order_relaxed);
    for (int i = 0; i < n; i++)
        known[i].seen = false;
    atomic_store_explicit(&unloads, scan(false), memory_order_relaxed);
    for (int i = 0; i < n; i++) {
        if (!known[i].record || known[i].seen)
            continue;
        atomic_store_explicit(&known[i].end, 0, memory_order_release);
        if (recording)
            move_sites(&known[i]);
    }
}

static int count_unloads(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(uint64_t *)count = info->dlpi_subs;
    return 1;
}

// Reports whether files were unloaded since drop_unloaded last looked.
static bool some_unloaded(void)
{
    uint64_t now = 0;
    mt_lock_acquired(MT_LOCK_LINKER_LIST);
    dl_iterate_phdr(count_unloads, &now);
    mt_lock_released(MT_LOCK_LINKER_LIST);
    return now != atomic_load_explicit(&unloads, memory_order_relaxed);
}

// Another thread may have unloaded a file without having got here yet. That file must
// be dropped before another one at the same addresses is added.
void mt_modules_scan(void)
{
    mt_lock(MT_LOCK_MODULES);
    if (some_unloaded())
        drop_unloaded(mt_on());
    scan(true);
    mt_unlock(MT_LOCK_MODULES);
}

void mt_modules_add_site(uint64_t address)
{
    static _Atomic uint64_t last_unknown; // the last address that is in no module: generated code
    if (address & MT_STACK_SITE || atomic_load_explicit(&last_unknown, memory_order_relaxed) == address)
        return;
    known_module *k = module_of(address);
    if (!k) {
        mt_modules_scan();
        k = module_of(address);
    }
    if (k)
        atomic_store_explicit(&k->used, true, memory_order_relaxed);
    else
        atomic_store_explicit(&last_unknown, address, memory_order_relaxed);
}

void mt_modules_unloaded(void)
{
    if (!some_unloaded())
        return; // there are other references to the file
    mt_lock(MT_LOCK_MODULES);
    drop_unloaded(mt_on());
    mt_unlock(MT_LOCK_MODULES);
}

void mt_modules_resume(void)
{
    mt_lock(MT_LOCK_MODULES);
    drop_unloaded(true);
    scan(true);
    mt_unlock(MT_LOCK_MODULES);
}
