/* gov-watch: starts a program, and reports each program that starts below it. It needs no rights.
 *
 *   gov-watch LOG PORT=SOCKET... -- BWRAP ... gov-watch --inside PORT... -- PROGRAM ...
 *
 * It stands outside of the sandbox that the program makes. A seccomp filter stops each execve(2) until gov-watch has read its words
 * and written one line to the descriptor LOG (seccomp_unotify(2), Linux 5.5): {"ms","pid","ppid","path","argv"}, and "cut":true
 * where words are left out. Other threads can change the words after that: the line is a record, not a wall. If gov-watch dies,
 * each further execve fails (ENOSYS), and bwrap ends the sandbox (--die-with-parent). It ends itself once nobody reads the log.
 *
 * The second form runs in the sandbox. It listens on loopback ports there and hands the sockets out through descriptor 9, so that
 * the first form carries their connections to Unix sockets outside. Nothing of gov runs inside after that.
 *
 * The filter also refuses sockets other than IPv4, IPv6 and netlink, because those of Unix reach other programs of the user;
 * io_uring, which no filter sees; key rings; typing into the terminal (TIOCSTI, TIOCLINUX); and calls of other architectures.
 *
 * Without a C library, so that the file is small and the same compiler makes the same bytes. See README.md. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioctl.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <stddef.h>
#include <stdint.h>
#include <asm/unistd.h>

#define EXPORT __attribute__((used))
typedef long word;

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
static word sys6(word n, word a, word b, word c, word d, word e, word f) {
  register word r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  word r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return r;
}
__asm__(".globl _start\n_start: mov %rsp,%rdi\n and $-16,%rsp\n call start\n hlt\n");
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
static word sys6(word n, word a, word b, word c, word d, word e, word f) {
  register word x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d,
                x4 __asm__("x4") = e, x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
__asm__(".globl _start\n_start: mov x0,sp\n bl start\n");
#endif
#define SYS(n, a, b, c) sys6(__NR_##n, (word)(a), (word)(b), (word)(c), 0, 0, 0)
#define SYS5(n, a, b, c, d, e) sys6(__NR_##n, (word)(a), (word)(b), (word)(c), (word)(d), (word)(e), 0)

EXPORT void *memset(void *at, int value, size_t n) { for (char *p = at; n--;) *p++ = (char)value; return at; }
EXPORT void *memcpy(void *to, const void *from, size_t n) { char *p = to; const char *q = from; while (n--) *p++ = *q++; return to; }
static size_t length(const char *s) { size_t n = 0; while (s[n]) n++; return n; }
static int same(const char *a, const char *b) { while (*a && *a == *b) a++, b++; return *a == *b; }
static word number(const char *s) { word n = 0; while (*s >= '0' && *s <= '9') n = n * 10 + *s++ - '0'; return n; }
static _Noreturn void leave(int code) { for (;;) SYS(exit_group, code, 0, 0); }
static void say(const char *s) { SYS(write, 2, s, length(s)); }
static _Noreturn void fail(const char *what) { say("gov-watch: "); say(what); say("\n"); leave(126); }

/* What the kernel's headers do not have for programs without a C library. */
struct piece { void *at; size_t n; };
struct message { void *name; int namelen; struct piece *pieces; size_t count; void *control; size_t controllen; int flags; };
struct rights { size_t length; int level, type, fd[8]; };
struct wait { int fd; short events, revents; };
enum { READABLE = 1, GONE = 8 | 0x10, MOST_PORTS = 4, HANDED = 9, UNIX = 1, INET = 2, INET6 = 10, NETLINK = 16, CLOEXEC = 02000000 };

/* The line that is written. A word that does not fit ends it. */
static char line[1 << 16];
static size_t used;
static int cut;
static void put(char c) { if (used < sizeof line - 64) line[used++] = c; else cut = 1; }
static void puts_(const char *s) { while (*s) put(*s++); }
static void putn(word n) { char b[24]; int i = 24; if (n < 0) n = 0; do b[--i] = (char)('0' + n % 10); while (n /= 10); while (i < 24) put(b[i++]); }
static void quoted(const char *s) {
  put('"');
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') { put('\\'); put((char)c); }
    else if (c < 32) { puts_("\\u00"); put("0123456789abcdef"[c >> 4]); put("0123456789abcdef"[c & 15]); }
    else put((char)c);
  }
  if (used >= sizeof line - 64) line[used++] = '"'; else put('"');
}

/* Reads memory of another process; returns the number of bytes. */
static word peek(int pid, word at, void *to, size_t n) {
  struct piece mine = {to, n}, theirs = {(void *)at, n};
  return sys6(__NR_process_vm_readv, pid, (word)&mine, 1, (word)&theirs, 1, 0);
}
/* Reads a text up to a page border at a time, because the next page may be missing. Returns 0 for more than max - 2 bytes. */
static int text(int pid, word at, char *to, size_t max) {
  for (size_t n = 0; n < max - 1;) {
    size_t step = 4096 - (size_t)((at + (word)n) & 4095);
    if (step > max - 1 - n) step = max - 1 - n;
    word got = peek(pid, at + (word)n, to + n, step);
    if (got <= 0) { to[n] = 0; return 0; }
    for (word i = 0; i < got; i++) if (!to[n + (size_t)i]) return 1;
    n += (size_t)got;
  }
  to[max - 2] = 0;
  return 0;
}

static char *path_of(char *to, const char *what, word pid, const char *more, word fd) {
  size_t old = used, oldcut = (size_t)cut;
  puts_("/proc/"); putn(pid); puts_(what);
  if (fd >= 0) putn(fd);
  puts_(more);
  memcpy(to, line + old, used - old); to[used - old] = 0;
  used = old; cut = (int)oldcut;
  return to;
}
/* The process and its parent, from /proc/PID/status. */
static word in_status(const char *status, const char *name) {
  for (const char *p = status; *p; p++)
    if (p == status || p[-1] == '\n') {
      const char *q = p, *r = name;
      while (*r && *q == *r) q++, r++;
      if (!*r) { while (*q == '\t' || *q == ' ') q++; return number(q); }
    }
  return 0;
}

static int listener; /* of the filter */
static int logfd;
static int program;  /* the process of PROGRAM, once it starts */
static int isReady;  /* the sandbox is set up */

/* Writes the line of one execve, and lets it go on. */
static void report(void) {
  static char path[4098], arg[4098], file[8192], status[4096];
  static struct seccomp_notif q;
  used = 0; cut = 0;
  memset(&q, 0, sizeof q);
  if (SYS(ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &q) < 0) return;
  struct seccomp_notif_resp answer = {.id = q.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
  int pid = (int)q.pid, isAt = q.data.nr == __NR_execveat;
  word folder = isAt ? (word)(int)q.data.args[0] : -100; /* AT_FDCWD */
  const word *args = (const word *)(const void *)q.data.args + (isAt ? 1 : 0);
  path[0] = 0;
  text(pid, args[0], path, sizeof path);
  /* a shell tries each folder of PATH: only a file that exists starts */
  if (path[0] == '/') path_of(file, "/root", pid, path, -1);
  else if (folder == -100) path_of(file, "/cwd/", pid, path, -1);
  else path_of(file, "/fd/", pid, "", folder);
  word there = sys6(__NR_faccessat, -100, (word)file, 1, 0, 0, 0);
  if (isReady && (there >= 0 || there == -13 /* EACCES */)) {
    if (!path[0]) { word n = sys6(__NR_readlinkat, -100, (word)file, (word)path, sizeof path - 2, 0, 0); path[n > 0 ? n : 0] = 0; }
    word fd = sys6(__NR_openat, -100, (word)path_of(file, "/status", pid, "", -1), CLOEXEC, 0, 0, 0), n = 0;
    if (fd >= 0) { n = SYS(read, fd, status, sizeof status - 1); SYS(close, fd, 0, 0); }
    status[n > 0 ? n : 0] = 0;
    struct { word s, ns; } now;
    SYS(clock_gettime, 0, &now, 0);
    if (!program) program = pid;
    puts_("{\"ms\":"); putn(now.s * 1000 + now.ns / 1000000);
    puts_(",\"pid\":"); putn(in_status(status, "Tgid:")); puts_(",\"ppid\":"); putn(in_status(status, "PPid:"));
    puts_(",\"path\":"); quoted(path); puts_(",\"argv\":[");
    int isCut = 0;
    for (word i = 0; args[1]; i++) {
      word at = 0;
      if (peek(pid, args[1] + 8 * i, &at, 8) != 8 || !at) break;
      if (i == 256 || used > sizeof line / 2) { isCut = 1; break; }
      if (i) put(',');
      if (!text(pid, at, arg, sizeof arg)) isCut = 1;
      quoted(arg);
    }
    const char *end = isCut || cut ? "],\"cut\":true}\n" : "]}\n";
    for (const char *p = end; *p; p++) line[used++] = *p;
    /* the process may have ended meanwhile, and another one have its number */
    if (SYS(ioctl, listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &q.id) < 0) return;
    for (size_t n = 0; n < used;) { word w = SYS(write, logfd, line + n, used - n); if (w <= 0) leave(125); n += (size_t)w; }
  }
  SYS(ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Sends or receives descriptors, with one byte. Returns how many came. */
static int pass(int through, int *fd, int count) {
  char byte = 'x';
  struct piece piece = {&byte, 1};
  struct rights r = {.length = 16 + 4 * (size_t)count, .level = 1 /* SOL_SOCKET */, .type = 1 /* SCM_RIGHTS */};
  struct message m = {.pieces = &piece, .count = 1, .control = &r, .controllen = sizeof r};
  if (fd && count) { memcpy(r.fd, fd, 4 * (size_t)count); m.controllen = 16 + (4 * (size_t)count + 7) / 8 * 8; }
  else if (count == 0) { m.control = 0; m.controllen = 0; }
  return SYS(sendmsg, through, &m, 0) == 1 ? count : -1;
}
static int take(int through, int *fd) {
  char byte;
  struct piece piece = {&byte, 1};
  struct rights r = {0};
  struct message m = {.pieces = &piece, .count = 1, .control = &r, .controllen = sizeof r};
  if (SYS(recvmsg, through, &m, 0x40000000 /* MSG_CMSG_CLOEXEC */) != 1) return -1;
  int count = m.controllen >= 16 && r.type == 1 ? (int)((r.length - 16) / 4) : 0;
  memcpy(fd, r.fd, 4 * (size_t)count);
  return count;
}

/* Carries one connection to a Unix socket, in a process of its own. */
static void carry(int one, const char *to) {
  struct { unsigned short family; char path[108]; } address = {UNIX, {0}};
  memcpy(address.path, to, length(to) < 107 ? length(to) : 107);
  int two = (int)SYS(socket, UNIX, 1, 0);
  if (two < 0 || SYS(connect, two, &address, sizeof address) < 0) leave(1);
  int from[2] = {one, two}, open = 3;
  while (open) {
    struct wait w[2] = {{open & 1 ? one : -1, READABLE, 0}, {open & 2 ? two : -1, READABLE, 0}};
    if (SYS5(ppoll, w, 2, 0, 0, 8) < 0) leave(1);
    for (int i = 0; i < 2; i++) {
      if (!w[i].revents) continue;
      word n = SYS(read, from[i], line, sizeof line);
      if (n <= 0) { open &= ~(1 << i); SYS(shutdown, from[!i], 1, 0); if (n < 0) leave(1); }
      for (word at = 0; at < n;) { word sent = SYS(write, from[!i], line + at, n - at); if (sent <= 0) leave(1); at += sent; }
    }
  }
  leave(0);
}

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static int filtered(void) {
  static struct sock_filter code[] = {
    LOAD(arch), IS(ARCH, 1, 0), REFUSE(1), LOAD(nr),
#if defined(__x86_64__)
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), REFUSE(1), /* x32 */
#endif
    IS(__NR_execve, 1, 0), IS(__NR_execveat, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    IS(__NR_io_uring_setup, 3, 0), IS(__NR_keyctl, 2, 0), IS(__NR_add_key, 1, 0), IS(__NR_request_key, 0, 1), REFUSE(38 /* ENOSYS */),
    IS(__NR_socket, 0, 6), LOAD(args[0]), IS(INET, 3, 0), IS(INET6, 2, 0), IS(NETLINK, 1, 0), REFUSE(97 /* EAFNOSUPPORT */), ALLOW,
    IS(__NR_ioctl, 0, 4), LOAD(args[1]), IS(0x5412 /* TIOCSTI */, 1, 0), IS(0x541c /* TIOCLINUX */, 0, 1), REFUSE(1), ALLOW};
  struct sock_fprog prog = {sizeof code / sizeof *code, code};
  SYS5(prctl, 38 /* PR_SET_NO_NEW_PRIVS */, 1, 0, 0, 0);
  return (int)SYS(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

static void action(int signal, word handler) {
  word act[4] = {handler, 0, 0, 0};
  sys6(__NR_rt_sigaction, signal, (word)act, 0, 8, 0, 0);
}
static void blocked(uint64_t signals) { sys6(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (word)&signals, 0, 8, 0, 0); }
static _Noreturn void become(char **argv, char **env) {
  word error = SYS(execve, argv[0], argv, env);
  say("gov-watch: cannot start "); say(argv[0]); say(error == -2 ? ": no such file\n" : "\n");
  leave(error == -2 ? 127 : 126);
}

/* In the sandbox: listens, hands the sockets out, and becomes the program. */
static _Noreturn void inside(char **argv, char **env) {
  int fd[8], count = 0;
  for (; *argv && !same(*argv, "--"); argv++) {
    word port = number(*argv), one = 1;
    struct { unsigned short family, port; unsigned char host[4]; char rest[8]; } at = {INET, (unsigned short)(port >> 8 | port << 8), {127, 0, 0, 1}, {0}};
    int s = (int)SYS(socket, INET, 1 | CLOEXEC, 0);
    if (count == MOST_PORTS || s < 0) fail("expected a socket");
    SYS5(setsockopt, s, 1, 2 /* SO_REUSEADDR */, &one, 4);
    if (SYS(bind, s, &at, sizeof at) < 0 || SYS(listen, s, 128, 0) < 0) fail("a port of the sandbox is taken");
    fd[count++] = s;
  }
  if (!*argv || !argv[1] || pass(HANDED, fd, count) < 0) fail("the sandbox was not started by gov-watch");
  SYS(close, HANDED, 0, 0);
  action(2, 0); action(3, 0);
  blocked(0);
  become(argv + 1, env);
}

/* What happens until the program ends. Returns its exit code. */
static int watch(int child, int handed, char **sockets, int ports) {
  uint64_t signals = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14; /* HUP, INT, QUIT, TERM */
  int status = 0, ended = 0;
  struct wait w[5 + MOST_PORTS] = {
    {listener, READABLE, 0}, {(int)sys6(__NR_signalfd4, -1, (word)&signals, 8, CLOEXEC, 0, 0), READABLE, 0},
    {(int)SYS(pidfd_open, child, 0, 0), READABLE, 0}, {handed, READABLE, 0}, {logfd, 0, 0}};
  for (int i = 0; i < MOST_PORTS; i++) w[5 + i].fd = -1, w[5 + i].events = READABLE;
  while (!ended) {
    if (SYS5(ppoll, w, 5 + MOST_PORTS, 0, 0, 8) < 0) return 125;
    if (w[4].revents & GONE) return 125; /* nobody reads the log any more */
    if (w[1].revents) {
      static int signal[32]; /* struct signalfd_siginfo: ssi_signo, ssi_errno, ssi_code */
      SYS(read, w[1].fd, signal, sizeof signal);
      /* the terminal has sent it to the program, too */
      if (signal[2] != 0x80 /* SI_KERNEL */) { if (program) SYS(kill, program, signal[0], 0); else return 128 + signal[0]; }
    }
    if (w[3].revents) {
      int fd[8] = {0}, count = take(handed, fd);
      if (count >= 0 && count != ports) return 125;
      for (int i = 0; i < count; i++) w[5 + i].fd = fd[i];
      isReady |= count >= 0;
      SYS(close, handed, 0, 0);
      w[3].fd = -1;
    }
    if (w[0].revents & READABLE) report(); /* after the sockets, which come before the program */
    for (int i = 0; i < MOST_PORTS; i++)
      if (w[5 + i].revents & READABLE) {
        int one = (int)sys6(__NR_accept4, w[5 + i].fd, 0, 0, CLOEXEC, 0, 0);
        if (one < 0) continue;
        if (sys6(__NR_clone, 17 /* SIGCHLD */, 0, 0, 0, 0, 0) == 0) {
          SYS(close, listener, 0, 0); SYS(close, logfd, 0, 0);
          SYS5(prctl, 1 /* PR_SET_PDEATHSIG */, 9, 0, 0, 0);
          for (char *p = sockets[i];; p++) if (*p == '=') carry(one, p + 1);
        }
        SYS(close, one, 0, 0);
      }
    int s, p;
    while ((p = (int)SYS5(wait4, -1, &s, 1 /* WNOHANG */, 0, 0)) > 0) if (p == child) { ended = 1; status = s; }
  }
  return status & 127 ? 128 + (status & 127) : status >> 8 & 255;
}

EXPORT _Noreturn void start(word *stack) {
  int argc = (int)stack[0], at = 2, pair[2];
  char **argv = (char **)(stack + 1), **env = argv + argc + 1;
  if (argc > 2 && same(argv[1], "--inside")) inside(argv + 2, env);
  while (at < argc && !same(argv[at], "--")) at++;
  int ports = at - 2;
  if (at + 1 >= argc || ports > MOST_PORTS) fail("expected LOG PORT=SOCKET... -- PROGRAM ARGUMENTS");
  logfd = (int)number(argv[1]);
  SYS(fcntl, logfd, 2 /* F_SETFD */, 1);
  if (SYS5(socketpair, UNIX, 1 | CLOEXEC, 0, pair, 0) < 0) fail("expected a pair of sockets");
  isReady = ports == 0;
  blocked(1 << 0 | 1 << 1 | 1 << 2 | 1 << 14);
  int child = (int)sys6(__NR_clone, 17 /* SIGCHLD */, 0, 0, 0, 0, 0);
  if (child == 0) {
    int fd = filtered();
    if (fd < 0) fail("this system allows no seccomp filter with a listener (Linux 5.5 or newer, not inside another one)");
    if (pass(pair[1], &fd, 1) < 0) fail("expected to pass the filter");
    SYS(close, fd, 0, 0);
    if (ports) { sys6(__NR_dup3, pair[1], HANDED, 0, 0, 0, 0); action(2, 1); action(3, 1); }
    else blocked(0);
    become(argv + at + 1, env);
  }
  SYS(close, pair[1], 0, 0);
  int fd[8];
  if (take(pair[0], fd) != 1) leave(126); /* the child has said why */
  listener = fd[0];
  leave(watch(child, ports ? pair[0] : -1, argv + 2, ports));
}
