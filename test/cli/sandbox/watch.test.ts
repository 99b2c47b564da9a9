import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readStarted, watchProgram, type StartedProgram } from '../../../src/cli/sandbox/watch.ts';
import { projectRoot } from '../../paths.ts';
import { whyNotSandboxed, whyNotWatched } from './possible.ts';

const folder = mkdtempSync(join(tmpdir(), 'watch-'));
const program = watchProgram() ?? '';
const native = join(projectRoot, 'native/watch');
const noWatch = whyNotWatched();
const noSandbox = whyNotSandboxed();

interface Watched {
  readonly code: number | null;
  readonly stdout: string;
  readonly started: readonly StartedProgram[];
}

function start(words: readonly string[]) {
  const child = spawn(program, ['3', ...words], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    cwd: folder,
  });
  const texts = { stdout: '', report: '' };
  child.stdout?.on('data', (chunk: Buffer) => (texts.stdout += chunk.toString()));
  child.stdio[3]?.on('data', (chunk: Buffer) => (texts.report += chunk.toString()));
  const end = new Promise<Watched>((done) =>
    child.on('close', (code) =>
      done({
        code,
        stdout: texts.stdout,
        started: texts.report.split('\n').filter(Boolean).map(readStarted),
      }),
    ),
  );
  return { child, texts, end };
}
const watch = (words: readonly string[]): Promise<Watched> => start(words).end;
const sh = (line: string): Promise<Watched> => watch(['--', '/bin/sh', '-c', line]);

describe('the committed gov-watch', () => {
  it('is what its source says, by the compiler that SHA256SUMS is from', ({ skip }) => {
    let version = '';
    try {
      version = ['gcc', 'aarch64-linux-gnu-gcc']
        .map((each) => execFileSync(each, ['-dumpfullversion'], { encoding: 'utf8' }).trim())
        .join(' ');
    } catch {
      // no compiler
    }
    skip(version !== '12.2.0 12.2.0', 'needs gcc 12.2.0 for x86-64 and arm64 (Debian 12)');
    execFileSync(join(native, 'build.sh'), [folder]);
    expect(readFileSync(join(folder, 'SHA256SUMS'), 'utf8')).toBe(
      readFileSync(join(native, 'SHA256SUMS'), 'utf8'),
    );
  });

  it('has the hashes that are committed with it', () => {
    for (const line of readFileSync(join(native, 'SHA256SUMS'), 'utf8').trim().split('\n')) {
      const [hash, name = ''] = line.split(/\s+/);
      expect(
        createHash('sha256')
          .update(readFileSync(join(native, name)))
          .digest('hex'),
      ).toBe(hash);
    }
  });
});

describe.skipIf(noWatch !== null)(`gov-watch${noWatch === null ? '' : ` (skipped: ${noWatch})`}`, () => {
  it('reports each program with its parent, and ends with the code of the program', async () => {
    const { code, started } = await sh('/bin/ls / >/dev/null; (exit 7)');
    expect(code).toBe(7);
    const [shell, ls] = started;
    expect(started).toHaveLength(2);
    expect(shell).toMatchObject({
      path: '/bin/sh',
      argv: ['/bin/sh', '-c', '/bin/ls / >/dev/null; (exit 7)'],
    });
    expect(ls).toMatchObject({ path: '/bin/ls', argv: ['/bin/ls', '/'], ppid: shell?.pid, isCut: false });
    expect(Math.abs(Date.now() - (ls?.ms ?? 0))).toBeLessThan(60_000);
  });

  it('reports a program that PATH finds once, under the path that starts', async () => {
    const { started } = await sh(`PATH=/nowhere:${folder}:/usr/bin:/bin; env true`);
    expect(started.slice(1).map(({ argv }) => argv[0])).toEqual(['env', 'true']);
  });

  it('keeps a line one line, and reads back the words that a program chose', async () => {
    const odd = 'a"b\\c\td\ne\u0001é';
    const { started } = await watch(['--', '/bin/echo', odd]);
    expect(started[0]?.argv).toEqual(['/bin/echo', odd]);
  });

  it('shortens long words and many words, and says so', async () => {
    const fits = await watch(['--', '/bin/true', 'x'.repeat(4096)]);
    expect(fits.started[0]).toMatchObject({ isCut: false });
    const long = await watch(['--', '/bin/true', 'x'.repeat(4097)]);
    expect(long.started[0]).toMatchObject({ isCut: true, argv: ['/bin/true', 'x'.repeat(4096)] });
    const all = await watch(['--', '/bin/true', ...Array.from({ length: 255 }, () => 'y')]);
    expect(all.started[0]).toMatchObject({ isCut: false });
    const many = await watch(['--', '/bin/true', ...Array.from({ length: 256 }, () => 'y')]);
    expect(many.started[0]?.argv).toHaveLength(256);
    expect(many.started[0]?.isCut).toBe(true);
    const large = await watch([
      '--',
      '/bin/true',
      ...Array.from({ length: 30 }, () => '\u0001'.repeat(4000)),
    ]);
    expect(large.started[0]?.isCut).toBe(true);
  });

  it('ends with the code of a shell where a program does not exist, or a signal ends it', async () => {
    expect((await watch(['--', '/nowhere/x'])).code).toBe(127);
    expect((await sh('kill -9 $$')).code).toBe(128 + 9);
  });

  it('ends once nobody reads its report', async () => {
    const { child, end } = start(['--', '/bin/sh', '-c', 'echo ready; while :; do :; done']);
    child.stdout?.once('data', () => {
      child.stdio[3]?.destroy();
      child.once('exit', () => process.kill(startedPid, 'SIGKILL'));
    });
    let startedPid = 0;
    child.stdio[3]?.once('data', (chunk: Buffer) => (startedPid = readStarted(chunk.toString().trim()).pid));
    expect((await end).code).toBe(125);
  });

  it('passes a signal on to the program', async () => {
    const { child, texts, end } = start([
      '--',
      '/bin/sh',
      '-c',
      'trap "echo got it; exit 3" TERM; echo ready; while :; do sleep 0.05; done',
    ]);
    child.stdout?.on('data', () => {
      if (texts.stdout === 'ready\n') child.kill('SIGTERM');
    });
    expect(await end).toMatchObject({ code: 3, stdout: 'ready\ngot it\n' });
  });

  it('no program starts once it is dead', async () => {
    // builtins alone until then
    const line = 'echo ready; while kill -0 $PPID 2>/dev/null; do :; done; /bin/true || echo refused';
    const { child, texts, end } = start(['--', '/bin/bash', '-c', line]);
    child.stdout?.on('data', () => {
      if (texts.stdout === 'ready\n') child.kill('SIGKILL');
    });
    expect((await end).stdout).toBe('ready\nrefused\n');
  });

  it.for([
    ['a Unix socket', 'socket.socket(socket.AF_UNIX)', 'OSError'],
    ['a vsock', 'socket.socket(40, 1)', 'OSError'],
    ['typing into the terminal', "fcntl.ioctl(0, termios.TIOCSTI, b'x')", 'PermissionError'],
    ['a key ring', 'libc.syscall(250, 0, -3, 0)', '-1 38'],
    ['io_uring', 'libc.syscall(425, 1, 0)', '-1 38'],
    ['a pair of sockets', 'socket.socketpair() and 1', '1'],
    ['an internet socket', 'socket.socket() and 1', '1'],
  ])('%s: %s gives %s', async ([, expression = '', expected], { skip }) => {
    skip(process.arch !== 'x64', 'the numbers of these calls are of x86-64');
    const file = join(folder, 'try.py');
    writeFileSync(
      file,
      `import socket, fcntl, termios, ctypes
libc = ctypes.CDLL(None, use_errno=True)
try:
  r = ${expression}
  print(r, ctypes.get_errno()) if r == -1 else print(r)
except OSError as e: print(type(e).__name__)
`,
    );
    const { code, stdout } = await watch(['--', '/usr/bin/env', 'python3', file]);
    skip(code === 127, 'needs python3');
    expect(stdout.trim()).toBe(expected);
  });
});

describe.skipIf(noSandbox !== null)(
  `gov-watch around a sandbox${noSandbox === null ? '' : ` (skipped: ${noSandbox})`}`,
  () => {
    it('carries a loopback port of the sandbox to a Unix socket outside, and reports what starts inside', async () => {
      const path = join(folder, 'p');
      const server = createServer((socket) =>
        socket.on('data', (chunk) => socket.end(`<${chunk.toString()}>`)),
      );
      await new Promise<void>((done) => server.listen(path, done));
      const bwrap = ['/usr/bin/env', 'bwrap', '--die-with-parent', '--unshare-net', '--unshare-pid'];
      const mounts = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];
      const line = 'exec 5<>/dev/tcp/127.0.0.1/8099; printf hello >&5; cat <&5';
      const inside = [program, '--inside', '8099', '--', '/bin/bash', '-c', line];
      const result = await watch([`8099=${path}`, '--', ...bwrap, ...mounts, ...inside]);
      server.close();
      expect(result).toMatchObject({ code: 0, stdout: '<hello>' });
      expect(result.started.map(({ argv }) => argv[0])).toEqual(['/bin/bash', 'cat']);
    });
  },
);
