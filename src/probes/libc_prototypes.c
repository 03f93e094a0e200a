/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "libc_prototypes.h"

#include <string.h>

#include "arch/syscall_args.h"
#include "base/alloc.h"

/*
 * As POSIX.1-2017 and the manual pages of Linux have them, by the kinds of system calls' arguments (syscall_args.h):
 * "kind:name", and what is given back; 'v': nothing.
 */
static const struct {
	const char *function;
	char result;
	const char *parameters;
} functions[] = {
	{ "malloc", 'x', "u:size" },
	{ "calloc", 'x', "u:nmemb u:size" },
	{ "realloc", 'x', "x:ptr u:size" },
	{ "reallocarray", 'x', "x:ptr u:nmemb u:size" },
	{ "free", 'v', "x:ptr" },
	{ "posix_memalign", 'i', "x:memptr u:alignment u:size" },
	{ "aligned_alloc", 'x', "u:alignment u:size" },
	{ "open", 'i', "p:path o:flags m:mode" },
	{ "open64", 'i', "p:path o:flags m:mode" },
	{ "openat", 'i', "d:dirfd p:path o:flags m:mode" },
	{ "openat64", 'i', "d:dirfd p:path o:flags m:mode" },
	{ "creat", 'i', "p:path m:mode" },
	{ "close", 'i', "f:fd" },
	{ "read", 'l', "f:fd x:buf u:count" },
	{ "write", 'l', "f:fd x:buf u:count" },
	{ "pread", 'l', "f:fd x:buf u:count l:offset" },
	{ "pread64", 'l', "f:fd x:buf u:count l:offset" },
	{ "pwrite", 'l', "f:fd x:buf u:count l:offset" },
	{ "pwrite64", 'l', "f:fd x:buf u:count l:offset" },
	{ "lseek", 'l', "f:fd l:offset w:whence" },
	{ "lseek64", 'l', "f:fd l:offset w:whence" },
	{ "fsync", 'i', "f:fd" },
	{ "fdatasync", 'i', "f:fd" },
	{ "ftruncate", 'i', "f:fd l:length" },
	{ "dup", 'i', "f:fd" },
	{ "dup2", 'i', "f:fd i:newfd" },
	{ "dup3", 'i', "f:fd i:newfd o:flags" },
	{ "pipe", 'i', "x:fds" },
	{ "pipe2", 'i', "x:fds o:flags" },
	{ "access", 'i', "p:path r:mode" },
	{ "faccessat", 'i', "d:dirfd p:path r:mode e:flags" },
	{ "stat", 'i', "p:path x:buf" },
	{ "stat64", 'i', "p:path x:buf" },
	{ "lstat", 'i', "p:path x:buf" },
	{ "lstat64", 'i', "p:path x:buf" },
	{ "fstat", 'i', "f:fd x:buf" },
	{ "fstat64", 'i', "f:fd x:buf" },
	{ "fstatat", 'i', "d:dirfd p:path x:buf a:flags" },
	{ "fstatat64", 'i', "d:dirfd p:path x:buf a:flags" },
	{ "statx", 'i', "d:dirfd p:path a:flags x:mask x:buf" },
	{ "readlink", 'l', "p:path x:buf u:size" },
	{ "readlinkat", 'l', "d:dirfd p:path x:buf u:size" },
	{ "mkdir", 'i', "p:path m:mode" },
	{ "mkdirat", 'i', "d:dirfd p:path m:mode" },
	{ "rmdir", 'i', "p:path" },
	{ "unlink", 'i', "p:path" },
	{ "unlinkat", 'i', "d:dirfd p:path a:flags" },
	{ "rename", 'i', "p:from p:to" },
	{ "link", 'i', "p:from p:to" },
	{ "symlink", 'i', "p:target p:path" },
	{ "chmod", 'i', "p:path m:mode" },
	{ "fchmod", 'i', "f:fd m:mode" },
	{ "chown", 'i', "p:path i:owner i:group" },
	{ "chdir", 'i', "p:path" },
	{ "chroot", 'i', "p:path" },
	{ "getcwd", 'x', "x:buf u:size" },
	{ "opendir", 'x', "p:name" },
	{ "readdir", 'x', "x:dirp" },
	{ "readdir64", 'x', "x:dirp" },
	{ "closedir", 'i', "x:dirp" },
	{ "mmap", 'x', "x:addr u:length P:prot M:flags f:fd l:offset" },
	{ "mmap64", 'x', "x:addr u:length P:prot M:flags f:fd l:offset" },
	{ "munmap", 'i', "x:addr u:length" },
	{ "mprotect", 'i', "x:addr u:length P:prot" },
	{ "madvise", 'i', "x:addr u:length i:advice" },
	{ "brk", 'i', "x:addr" },
	{ "sbrk", 'x', "l:increment" },
	{ "mount", 'i', "p:source p:target p:type x:flags x:data" },
	{ "umount", 'i', "p:target" },
	{ "umount2", 'i', "p:target i:flags" },
	{ "ioctl", 'i', "f:fd x:request x:arg" },
	{ "fcntl", 'i', "f:fd i:cmd x:arg" },
	{ "fcntl64", 'i', "f:fd i:cmd x:arg" },
	{ "fopen", 'x', "p:path p:mode" },
	{ "fopen64", 'x', "p:path p:mode" },
	{ "fdopen", 'x', "f:fd p:mode" },
	{ "fclose", 'i', "x:stream" },
	{ "fread", 'u', "x:ptr u:size u:nmemb x:stream" },
	{ "fwrite", 'u', "x:ptr u:size u:nmemb x:stream" },
	{ "fgets", 'x', "x:s i:size x:stream" },
	{ "fputs", 'i', "p:s x:stream" },
	{ "fflush", 'i', "x:stream" },
	{ "puts", 'i', "p:s" },
	{ "putchar", 'i', "i:c" },
	{ "printf", 'i', "p:format" },
	{ "fprintf", 'i', "x:stream p:format" },
	{ "snprintf", 'i', "x:s u:size p:format" },
	{ "perror", 'v', "p:s" },
	{ "kill", 'i', "i:pid S:sig" },
	{ "raise", 'i', "S:sig" },
	{ "signal", 'x', "S:sig x:handler" },
	{ "sigaction", 'i', "S:sig x:act x:oldact" },
	{ "sigprocmask", 'i', "i:how x:set x:oldset" },
	{ "fork", 'i', "" },
	{ "vfork", 'i', "" },
	{ "execve", 'i', "p:path x:argv x:envp" },
	{ "execv", 'i', "p:path x:argv" },
	{ "execvp", 'i', "p:file x:argv" },
	{ "system", 'i', "p:command" },
	{ "wait", 'i', "x:status" },
	{ "waitpid", 'i', "i:pid x:status i:options" },
	{ "exit", 'v', "i:status" },
	{ "_exit", 'v', "i:status" },
	{ "abort", 'v', "" },
	{ "getpid", 'i', "" },
	{ "getppid", 'i', "" },
	{ "getuid", 'u', "" },
	{ "setuid", 'i', "i:uid" },
	{ "setgid", 'i', "i:gid" },
	{ "getenv", 'x', "p:name" },
	{ "setenv", 'i', "p:name p:value i:overwrite" },
	{ "unsetenv", 'i', "p:name" },
	{ "sleep", 'i', "i:seconds" },
	{ "usleep", 'i', "i:usec" },
	{ "nanosleep", 'i', "x:request x:remaining" },
	{ "clock_gettime", 'i', "i:clock x:tp" },
	{ "gettimeofday", 'i', "x:tv x:tz" },
	{ "time", 'l', "x:tloc" },
	{ "socket", 'i', "i:domain i:type i:protocol" },
	{ "bind", 'i', "f:fd x:addr u:len" },
	{ "connect", 'i', "f:fd x:addr u:len" },
	{ "listen", 'i', "f:fd i:backlog" },
	{ "accept", 'i', "f:fd x:addr x:len" },
	{ "accept4", 'i', "f:fd x:addr x:len i:flags" },
	{ "send", 'l', "f:fd x:buf u:len x:flags" },
	{ "recv", 'l', "f:fd x:buf u:len x:flags" },
	{ "sendto", 'l', "f:fd x:buf u:len x:flags x:addr u:addrlen" },
	{ "recvfrom", 'l', "f:fd x:buf u:len x:flags x:addr x:addrlen" },
	{ "getaddrinfo", 'i', "p:node p:service x:hints x:res" },
	{ "poll", 'i', "x:fds u:nfds i:timeout" },
	{ "select", 'i', "i:nfds x:readfds x:writefds x:exceptfds x:timeout" },
	{ "epoll_wait", 'i', "f:epfd x:events i:maxevents i:timeout" },
	{ "epoll_ctl", 'i', "f:epfd i:op i:fd x:event" },
	{ "dlopen", 'x', "p:file i:mode" },
	{ "dlsym", 'x', "x:handle p:symbol" },
	{ "pthread_create", 'i', "x:thread x:attr x:start x:arg" },
	{ "pthread_join", 'i', "x:thread x:retval" },
	{ "pthread_mutex_lock", 'i', "x:mutex" },
	{ "pthread_mutex_unlock", 'i', "x:mutex" },
	{ "pthread_cond_wait", 'i', "x:cond x:mutex" },
	{ "pthread_cond_signal", 'i', "x:cond" },
	{ "strdup", 'x', "p:s" },
	{ "strtol", 'l', "p:nptr x:endptr i:base" },
	{ "strtoul", 'u', "p:nptr x:endptr i:base" },
	{ "atoi", 'i', "p:nptr" },
	{ "qsort", 'v', "x:base u:nmemb u:size x:compar" },
	{ "syslog", 'v', "i:priority p:format" },
	{ "setlocale", 'x', "i:category p:locale" },
	{ "setjmp", 'i', "x:env" },
	{ "longjmp", 'v', "x:env i:val" },
};

/* Descriptors of folders and flags have words of their own; what else there is, is a number, an address or a text. */
static struct parameter parameter_of(char kind, const char *name, size_t n)
{
	struct parameter p = { .kind = VALUE_ARGUMENT, .bytes = sizeof(uint64_t), .name = xstrndup(name, n) };
	const char type[] = { kind, '\0' };

	switch (kind) {
	case 'v':
		p.kind = VALUE_NONE;
		p.bytes = 0;
		break;
	case ARG_PATH:
		p.kind = VALUE_STRING;
		break;
	case ARG_ADDRESS:
		p.kind = VALUE_POINTER;
		break;
	case ARG_SIZE:
		p.kind = VALUE_UNSIGNED;
		break;
	case ARG_LONG:
		p.kind = VALUE_SIGNED;
		break;
	case ARG_INT:
	case ARG_FD:
		p.kind = VALUE_SIGNED;
		p.bytes = sizeof(int32_t);
		break;
	default:
		break;
	}
	p.type = xstrdup(p.kind == VALUE_ARGUMENT ? type : "");
	return p;
}

static bool is_libc(const char *file)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;

	return !strncmp(base, "libc.", 5) || !strncmp(base, "libc-2", 6) || !strncmp(base, "ld-musl", 7);
}

bool libc_prototype_find(const char *file, const char *function, struct prototype *ret)
{
	size_t i = 0;

	while (i < sizeof functions / sizeof *functions && strcmp(functions[i].function, function))
		i++;
	if (i == sizeof functions / sizeof *functions || !is_libc(file))
		return false;
	ret->result = parameter_of(functions[i].result, "", 0);
	for (const char *p = functions[i].parameters; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		ret->parameters[ret->count++] = parameter_of(*p, p + 2, n - 2);
		p += n;
	}
	return true;
}
