/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/byteorder/little_endian.h>
