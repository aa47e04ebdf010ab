// SPDX-License-Identifier: GPL-2.0
/* From v7.2 on kernel/sched has offsets of its own, made only if this one says what it is. */
#define COMPILE_OFFSETS
#include <linux/kbuild.h>

int main(void) { return 0; }
