#include "base/settings.h"

#include <stdlib.h>
#include <string.h>

#define MT_SETTING_TRAITS(id, name, variable, default_value, what) {name, variable, default_value, what},
const mt_setting_traits mt_settings[MT_SETTINGS_COUNT] = {MT_SETTINGS(MT_SETTING_TRAITS)};
#undef MT_SETTING_TRAITS

// Values that the program has set. They are never freed, because MPI_Init may be
// reading them.
static _Atomic(char *) stored[MT_SETTINGS_COUNT];
static bool rejected[MT_SETTINGS_COUNT];

const char *mt_setting_text(mt_setting s)
{
    const char *text = atomic_load_explicit(&stored[s], memory_order_acquire);
    if (!text)
        text = getenv(mt_settings[s].variable);
    return text && *text && !rejected[s] ? text : NULL;
}

void mt_setting_reject(mt_setting s)
{
    rejected[s] = true;
}

bool mt_setting_store(mt_setting s, const char *value)
{
    char *copy = strdup(value);
    if (copy)
        atomic_store_explicit(&stored[s], copy, memory_order_release);
    return copy != NULL;
}
