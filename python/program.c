/* The program of the Python package: its main calls what the extension is linked to as well. */
#include "cli/internal.h"

int main(int argc, char **argv) {
    return hu_program(argc, argv);
}
