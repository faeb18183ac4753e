/* Calls the program, which is linked with it, or which it loads for itself alone, as Python does its extensions. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

extern int run(int, char **) __attribute__((weak));

int main(int argc, char **argv)
{
    int (*program)(int, char **) = run;
    if (getenv("EXTENSION")) {
        void *loaded = dlopen(getenv("EXTENSION"), RTLD_NOW | RTLD_LOCAL);
        program = loaded ? (int (*)(int, char **))dlsym(loaded, "run") : 0;
    }
    if (!program) {
        puts("no MPI");
        return 3;
    }
    return program(argc, argv);
}
