/* reloaded_plugin.c as a program (1 rank). */
#include "reloaded_plugin.c"

int main(void)
{
    return run();
}
