#include "base/settings.h"

#include <stdlib.h>
#include <string.h>

#define MT_SETTING_TRAITS(id, name, variable, otherwise, what) {name, variable, otherwise, what},
const mt_setting_traits mt_settings[MT_SETTINGS_COUNT] = {MT_SETTINGS(MT_SETTING_TRAITS)};
#undef MT_SETTING_TRAITS

// Values that the program has set. They are never freed, because MPI_Init may be
// reading them.
static _Atomic(char *) said[MT_SETTINGS_COUNT];
static bool refused[MT_SETTINGS_COUNT];

const char *mt_setting_text(mt_setting s)
{
    const char *text = atomic_load_explicit(&said[s], memory_order_acquire);
    if (!text)
        text = getenv(mt_settings[s].variable);
    return text && *text && !refused[s] ? text : NULL;
}

void mt_setting_ignore(mt_setting s)
{
    refused[s] = true;
}

bool mt_setting_keep(mt_setting s, const char *value)
{
    char *copy = strdup(value);
    if (copy)
        atomic_store_explicit(&said[s], copy, memory_order_release);
    return copy != NULL;
}
