#define _GNU_SOURCE
#include "mpit/cvalue.h"


#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// The number of characters of a value that an error text quotes.
enum { MT_QUOTED = 80 };

static int quoted(size_t length)
{
    return length < MT_QUOTED ? (int)length : MT_QUOTED;
}

static bool parse_real(const char *text, size_t length, uint64_t *word)
{
    char digits[64], *end;
    if (length == 0 || length >= sizeof digits || *text == ' ')
        return false;
    memcpy(digits, text, length);
    digits[length] = 0;
    double value = strtod(digits, &end);
    memcpy(word, &value, sizeof value);
    return end == digits + length;
}

// Parses a number without a sign, decimal or (after 0x) hexadecimal. A number that
// does not fit in 64 bits becomes the largest one, and errno becomes ERANGE.
static bool parse_digits(const char *text, size_t length, uint64_t *value)
{
    char digits[64], *end;
    if (length == 0 || length >= sizeof digits || *text < '0' || *text > '9')
        return false;
    memcpy(digits, text, length);
    digits[length] = 0;
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    errno = 0;
    *value = strtoull(digits, &end, hexadecimal ? 16 : 10);
    return end == digits + length;
}

// Parses a number into the lowest bytes of `word`. These are its first bytes in
// memory, because the machine is little-endian. On failure it writes the reason to
// `why`.
static bool parse_number(const mt_mpit_type *t, const char *text, size_t length, uint64_t *word, char *why)
{
    size_t sign = length > 0 && (*text == '-' || *text == '+');
    bool negative = sign && *text == '-';
    if (t->kind == MT_PVAR_DOUBLE ? !parse_real(text, length, word) : !parse_digits(text + sign, length - sign, word)) {
        snprintf(why, MT_CVAR_WHY, "it is a number (%s), and \"%.*s\" is not", t->name, quoted(length), text);
        return false;
    }
    if (t->kind == MT_PVAR_DOUBLE)
        return true;
    if (negative && t->kind == MT_PVAR_UNSIGNED && *word) {
        snprintf(why, MT_CVAR_WHY, "it has an unsigned type (%s), and %.*s is negative", t->name, quoted(length), text);
        return false;
    }
    uint64_t max = UINT64_MAX >> (64 - 8 * t->size);
    max = t->kind == MT_PVAR_SIGNED ? max / 2 + negative : max;
    if (errno == ERANGE || *word > max) {
        snprintf(why, MT_CVAR_WHY, "%.*s is too large for it (%s)", quoted(length), text, t->name);
        return false;
    }
    *word = negative ? -*word : *word;
    return true;
}

// Reports whether `text` is the name of an enumeration item. An item may have several
// names with | between them, such as t|true|yes; then the whole string is accepted,
// too.
static bool names_item(const char *names, const char *text, size_t length)
{
    for (const char *name = names; *name;) {
        size_t n = strcspn(name, "|");
        if (n == length && strncasecmp(name, text, n) == 0)
            return true;
        name += n + (name[n] == '|');
    }
    return strlen(names) == length && memcmp(names, text, length) == 0;
}

typedef struct mt_items {
    bool found, flags; // an item was found; each item has at most one bit set
    int value, all;    // of the item that was found; all items, combined with OR
    int min, max;      // the smallest and largest value of an item
} mt_items;

// Reports whether the variable is one of Open MPI's levels of verbosity. Their items
// are marks on a scale, so numbers between two items are valid.
static bool is_scale(const mt_cvar *v)
{
    char name[MT_CVAR_NAME] = "";
    int n, length = sizeof name;
    return mt_pmpi.T_enum_get_info(v->items, &n, name, &length) == MPI_SUCCESS && strcmp(name, "verbosity") == 0;
}

// Looks for an item by its name or number, and writes a list of all items to `why`.
static mt_items find_item(const mt_cvar *v, int n, const char *text, size_t length, char *why)
{
    mt_items found = {.flags = true, .min = INT_MAX, .max = INT_MIN};
    uint64_t number = 0;
    bool negative = length > 1 && *text == '-', numeric = parse_digits(text + negative, length - negative, &number);
    int64_t wanted = negative ? -(int64_t)number : (int64_t)number;
    int used = snprintf(why, MT_CVAR_WHY, "\"%.*s\" is not in its enumeration:", quoted(length), text);
    for (int i = 0; i < n; i++) {
        char name[256] = "";
        int size = sizeof name, value;
        if (mt_pmpi.T_enum_get_item(v->items, i, &value, name, &size) != MPI_SUCCESS)
            continue;
        if (used < MT_CVAR_WHY)
            used += snprintf(why + used, (size_t)(MT_CVAR_WHY - used), "%s %d %s", i ? "," : "", value, name);
        found.flags = found.flags && (value & (value - 1)) == 0;
        found.all |= value;
        found.min = value < found.min ? value : found.min;
        found.max = value > found.max ? value : found.max;
        if (!found.found && (names_item(name, text, length) || (numeric && wanted == value))) {
            found.found = true;
            found.value = value;
        }
    }
    if (!found.found && numeric && wanted >= found.min && wanted <= found.max && is_scale(v)) {
        found.found = true;
        found.value = (int)wanted;
    }
    if (!found.found && found.flags && numeric && !negative && !(number & ~(uint64_t)(uint32_t)found.all)) {
        found.found = true;
        found.value = (int)number;
    }
    return found;
}

// Parses the name or number of one item. Several items, with commas between them, are
// allowed if each is a bit; their values are then combined.
static bool parse_items(const mt_cvar *v, int n, const char *text, uint64_t *word, char *why)
{
    int value = 0;
    for (const char *part = text;;) {
        size_t length = strcspn(part, ",");
        mt_items item = find_item(v, n, part, length, why);
        if (!item.found || (part != text && !item.flags))
            return false;
        value |= item.value;
        if (!part[length])
            break;
        part += length + 1;
    }
    *word = (uint64_t)(int64_t)value;
    return true;
}

static int items_of(const mt_cvar *v)
{
    char name[MT_CVAR_NAME];
    int n = 0, length = sizeof name;
    if (v->items == MPI_T_ENUM_NULL || mt_pmpi.T_enum_get_info(v->items, &n, name, &length) != MPI_SUCCESS)
        return 0;
    return n;
}

static void *parse_text(const mt_cvar *v, const char *text, char *why)
{
    size_t length = strlen(text);
    if (length >= (size_t)v->count) {
        snprintf(why, MT_CVAR_WHY, "it has room for %d characters, and the value has %zu", v->count - 1, length);
        return NULL;
    }
    char *value = calloc(1, (size_t)v->count + 1);
    return value ? memcpy(value, text, length) : NULL;
}

void *mt_cvar_parse(const mt_cvar *v, const char *text, char why[MT_CVAR_WHY])
{
    const mt_mpit_type *t = v->type;
    snprintf(why, MT_CVAR_WHY, "there is no memory for its value");
    if (v->count < 1 || v->count > (t->kind == MT_PVAR_TEXT ? MT_CVAR_TEXT : MT_CVAR_ELEMENTS)) {
        snprintf(why, MT_CVAR_WHY, "it has %d elements", v->count);
        return NULL;
    }
    if (t->kind == MT_PVAR_TEXT)
        return parse_text(v, text, why);
    // One word more than the elements need: the loop below copies whole words, also
    // for smaller elements.
    uint64_t *value = calloc((size_t)v->count + 1, sizeof *value);
    int n = items_of(v), i = 0;
    bool good = value != NULL;
    if (good && n > 0 && v->count == 1 && t->kind != MT_PVAR_DOUBLE) {
        good = parse_items(v, n, text, value, why);
        i = 1;
    }
    for (const char *part = text; good && i < v->count; i++) {
        size_t length = i < v->count - 1 ? strcspn(part, ",") : strlen(part);
        uint64_t word = 0;
        good = parse_number(t, part, length, &word, why);
        memcpy((char *)value + (size_t)i * t->size, &word, sizeof word);
        part += length + (part[length] == ',');
    }
    if (good)
        return value;
    free(value);
    return NULL;
}

char *mt_cvar_text(const mt_cvar *v, const void *value)
{
    const mt_mpit_type *t = v->type;
    if (t->kind == MT_PVAR_TEXT)
        return strndup(value, (size_t)v->count);
    enum { MT_DIGITS = 32 };
    size_t room = (size_t)v->count * MT_DIGITS, used = 0;
    char *text = calloc(1, room + 1);
    for (int i = 0; text && i < v->count; i++) {
        uint64_t word = 0;
        double real;
        memcpy(&word, (const char *)value + (size_t)i * t->size, t->size);
        memcpy(&real, &word, sizeof real);
        unsigned unused = (unsigned)(64 - 8 * t->size);
        const char *comma = i ? "," : "";
        if (t->kind == MT_PVAR_DOUBLE)
            used += (size_t)snprintf(text + used, room - used, "%s%.15g", comma, real);
        else if (t->kind == MT_PVAR_SIGNED)
            used += (size_t)snprintf(text + used, room - used, "%s%lld", comma, (long long)(word << unused) >> unused);
        else
            used += (size_t)snprintf(text + used, room - used, "%s%llu", comma, (unsigned long long)word);
    }
    return text;
}
