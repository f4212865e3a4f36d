#ifndef LINE_H
#define LINE_H

#include <stddef.h>

// A line of the list: a kind, then key=value, separated by blanks. In values
// all bytes but visible ASCII, and %, are written as %XX: names and descriptions
// are data. A line is written at once when it is whole, so that a process that
// ends in the middle of an entry leaves no half of one.
struct line {
    char *text;
    size_t size, room;
};

void line_start(struct line *l, const char *kind);
void line_text(struct line *l, const char *key, const char *value);
void line_number(struct line *l, const char *key, long long value);

// A number that a library may have left as it was: then it is not written.
enum { UNSET = -2147483647 - 1 };
void line_set(struct line *l, const char *key, int value);

void line_write(struct line *l, int file);

#endif
