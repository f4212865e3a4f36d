// Reports whether descriptor 2 is still the file that it was at the start. A program may
// have closed it and opened a file of its own, which then gets the number 2.
#ifndef MT_STDERR_H
#define MT_STDERR_H

#include <stdbool.h>

// Reports whether messages may be written to descriptor 2.
bool mt_stderr_unchanged(void);

#endif
