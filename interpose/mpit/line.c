#include "line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Appends a character. Without memory the process exits. Then the list has no line
// "end", and the reader reports that.
static void put(struct line *l, char c)
{
    if (l->size == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        l->text = realloc(l->text, l->room);
        if (!l->text)
            _exit(2);
    }
    l->text[l->size++] = c;
}

static void put_text(struct line *l, const char *s)
{
    while (*s)
        put(l, *s++);
}

static void put_escaped(struct line *l, const char *s)
{
    static const char hex[] = "0123456789ABCDEF";
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c > ' ' && c < 127 && c != '%') {
            put(l, *s);
        } else {
            put(l, '%');
            put(l, hex[c >> 4]);
            put(l, hex[c & 15]);
        }
    }
}

void line_start(struct line *l, const char *kind)
{
    l->size = 0;
    put_text(l, kind);
}

void line_text(struct line *l, const char *key, const char *value)
{
    put(l, ' ');
    put_text(l, key);
    put(l, '=');
    put_escaped(l, value);
}

void line_number(struct line *l, const char *key, long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    line_text(l, key, text);
}

void line_number_if_set(struct line *l, const char *key, int value)
{
    if (value != UNSET)
        line_number(l, key, value);
}

void line_write(struct line *l, int file)
{
    put(l, '\n');
    for (size_t done = 0; done < l->size;) {
        ssize_t n = write(file, l->text + done, l->size - done);
        if (n < 0 && errno != EINTR)
            _exit(2);
        if (n > 0)
            done += (size_t)n;
    }
}
