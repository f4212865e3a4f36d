#ifndef LINE_H
#define LINE_H

#include <stddef.h>

// A line of the list: a kind, then pairs key=value, separated by blanks. In values, all
// bytes except visible ASCII characters are written as %XX, and so is %, because names
// and descriptions may contain any byte. A line is written when it is complete, so that
// a process that crashes leaves no partial line.
struct line {
    char *text;
    size_t size, room;
};

void line_start(struct line *l, const char *kind);
void line_text(struct line *l, const char *key, const char *value);
void line_number(struct line *l, const char *key, long long value);

// Writes a number, unless it is still UNSET because the library did not set it.
enum { UNSET = -2147483647 - 1 };
void line_number_if_set(struct line *l, const char *key, int value);

void line_write(struct line *l, int file);

#endif
