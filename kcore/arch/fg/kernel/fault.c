// SPDX-License-Identifier: GPL-2.0
/*
 * What goes wrong inside the core is the core's, and the process of the engine survives it.
 *
 * BUG(), a symbol that the shim lacks, a lock taken twice, an oops and an endless loop all end in fg_stop(): it notes
 * what happened and leaves the call by a jump. The tables of the core are then in the middle of something, so every
 * later call is refused. A WARN is only noted.
 */
#include "fg.h"

#define FG_LOG (32 * 1024)

struct fg_fault fg_fault;
void *fg_way_out[5];
int fg_inside;
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
static char fg_text[FG_LOG];
static size_t fg_used;

extern int vsnprintf(char *buffer, size_t size, const char *format, va_list arguments);

void fg_stop(u32 kind, const char *what, unsigned long caller)
{
	fg_fault.kind = kind;
	fg_fault.what = what;
	fg_fault.caller = caller ? caller - (unsigned long)__ehdr_start : 0;
	fg_inside = 0;
	__builtin_longjmp(fg_way_out, 1);
}

void fg_bug(const char *file, int line, const char *function)
{
	fg_fault.file = file;
	fg_fault.line = line;
	fg_stop(FG_BUG, function, (unsigned long)__builtin_return_address(0));
}

void fg_trap(const char *symbol, unsigned long caller);
void fg_trap(const char *symbol, unsigned long caller)
{
	fg_stop(FG_TRAP, symbol, caller);
}

void fg_dead_lock(const void *lock)
{
	fg_stop(FG_DEAD_LOCK, "a lock that this call holds already", (unsigned long)__builtin_return_address(0));
}

/* A wait for another CPU: none can answer during a call. A million rounds are some ms. */
void fg_relax(void)
{
	static u64 at, rounds;

	if (at != fg_now)
		rounds = 0;
	at = fg_now;
	if (++rounds > 1000000)
		fg_stop(FG_LOOP, "a wait for another CPU", (unsigned long)__builtin_return_address(0));
}

/* A signal came to this thread. Outside a call it is not the core's, and there is no way out to jump to. */
void fg_signalled(u32 kind, u64 address, u64 caller);
void fg_signalled(u32 kind, u64 address, u64 caller)
{
	if (!fg_inside)
		return;
	fg_fault.address = address;
	fg_stop(kind, kind == FG_LOOP ? "an endless loop" : "an invalid access", caller);
}

const struct fg_fault *fg_get_fault(void);
const struct fg_fault *fg_get_fault(void) { return &fg_fault; }
const char *fg_log(void) { return fg_text; }

/* The log keeps its beginning: what was said first is nearest to the cause. */
static int fg_print(const char *format, va_list arguments)
{
	int wrote = vsnprintf(fg_text + fg_used, FG_LOG - fg_used, format, arguments);

	fg_used = min_t(size_t, fg_used + max(wrote, 0), FG_LOG - 1);
	return wrote;
}

static __attribute__((format(printf, 1, 2))) void fg_say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fg_print(format, arguments);
	va_end(arguments);
}

/*
 * printk of the tree: the level at the start of its text is two bytes, \001 and a digit. Formats of its own (%pS,
 * %*pbl) come out as the C library reads them: a message stays readable, its masks do not.
 */
#ifdef FG_HAS_PRINTK_INDEX
int _printk(const char *format, ...)
#else
int printk(const char *format, ...)
#endif
{
	va_list arguments;
	int wrote;

	if (format[0] == '\001')
		format += 2;
	va_start(arguments, format);
	wrote = fg_print(format, arguments);
	va_end(arguments);
	return wrote;
}

void warn_slowpath_fmt(const char *file, int line, unsigned int taint, const char *format, ...)
{
	va_list arguments;

	fg_say("WARNING: %s:%d ", file, line);
	if (format) {
		va_start(arguments, format);
		fg_print(format, arguments);
		va_end(arguments);
	}
	fg_say("\n");
	fg_request(FG_WARN, fg_cpu, 0, 0);
}

void __warn_printk(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fg_say("WARNING: ");
	fg_print(format, arguments);
	va_end(arguments);
	fg_request(FG_WARN, fg_cpu, 0, 0);
}

void panic(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fg_print(format, arguments);
	va_end(arguments);
	fg_stop(FG_BUG, "panic", (unsigned long)__builtin_return_address(0));
}
