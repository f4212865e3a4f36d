// Settings that the program changes while it runs, through mpitrace.h or as control
// variables of MPI_T.
#ifndef MT_SETTING_CHANGE_H
#define MT_SETTING_CHANGE_H

#include "base/settings.h"

// Writes the value in force to a buffer of `size` bytes, truncated if necessary.
// Returns the length of the value.
size_t mt_setting_current(mt_setting s, char *buffer, size_t size);

// Sets a setting for the program. Returns MT_SET, or why it was not set: the program
// can never set it, or not now, or the value is not valid.
typedef enum mt_setting_result { MT_SET, MT_SET_NEVER, MT_SET_NOT_NOW, MT_SET_INVALID } mt_setting_result;
mt_setting_result mt_setting_change(mt_setting s, const char *value);

// Reports whether the program can set it at some time.
bool mt_setting_is_changeable(mt_setting s);

#endif
