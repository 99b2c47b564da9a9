/**
 * Whole planes as their operators run them, in a shell: in a network namespace without routes, and with every connect(2) of
 * every process watched by strace.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cleanEnv, ended, runner } from '../../cli/support/tool.ts';

const works = (...words: readonly string[]): boolean => {
  const [program = '', ...rest] = words;
  return spawnSync(program, rest, { stdio: 'ignore' }).status === 0;
};
/** Null, or why there are none. */
export const noNamespace = works('unshare', '-rn', 'sh', '-c', 'ip link set lo up')
  ? null
  : 'no namespaces here: unshare -rn or ip';
export const noTrace = works('strace', '-f', '-o', '/dev/null', 'true') ? null : 'no strace here';

/** Before the test gives up: whatever hangs then is told, and ends. */
const mostMs = 90_000;

/** Serves a plane, as `$pid`; every command has to end with 0. */
export const serveLines = `
'${process.execPath}' '${runner}' plane serve --data plane 2> serve.log & pid=$!
trap 'kill $pid; wait $pid' EXIT
for look in $(seq 300); do [ -e plane/run.json ] && break; sleep 0.1; done
`;
export const stopLine = 'trap - EXIT; kill $pid; wait $pid';
export const makeLine = 'gov plane init --data plane --listen 127.0.0.1:0 --metrics-listen off';

export interface Ran {
  readonly code: number | null;
  readonly said: string;
  /** Internet addresses that a process connected to, `HOST:PORT`; empty where nothing was traced. */
  readonly connected: ReadonlySet<string>;
}

export interface RunOptions {
  /** Where; what is tried is traced there. */
  readonly folder: string;
  /** What stands before the shell, such as `unshare -rn`. */
  readonly before?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Does what a line `carry WORD` asks for, which goes on once it is done. */
  readonly carry?: (word: string) => Promise<void>;
}

/** Runs lines in a shell. */
export async function run(lines: string, { folder, before = [], env = {}, carry }: RunOptions): Promise<Ran> {
  const trace = ['strace', '-f', '-qq', '-e', 'trace=connect,sendto', '-o', 'trace.txt'];
  const own = `gov() { '${process.execPath}' '${runner}' "$@" < /dev/null; }\ncarry() { echo "carry $1"; read -r; }`;
  const words = [...before, ...(noTrace === null ? trace : []), 'bash', '-c', `set -e\n${own}\n${lines}`];
  const [program = '', ...rest] = words;
  const places = { GOV_CONFIG_DIR: join(folder, 'config'), XDG_STATE_HOME: join(folder, 'state') };
  const child = spawn(program, rest, { env: cleanEnv({ ...places, ...env }), cwd: folder, timeout: mostMs });
  child.stdin.on('error', () => {}); // of a shell that has ended
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [, word] = /^carry (.*)$/.exec(line) ?? [];
    if (word === undefined || carry === undefined) return;
    // without it the lines after it never come
    void carry(word).then(
      () => child.stdin.write('\n'),
      (error: unknown) => child.kill() && console.error(error),
    );
  });
  const { code, stdout, stderr } = await ended(child);
  const text = noTrace === null ? readFileSync(join(folder, 'trace.txt'), 'utf8') : '';
  const calls = text.matchAll(/sin6?_port=htons\((\d+)\).*?"([^"]+)"/g);
  return {
    code,
    said: `${stdout}${stderr}`,
    connected: new Set([...calls].map(([, port, host]) => `${host}:${port}`)),
  };
}

/** Where the plane in a folder served, `HOST:PORT`. */
export const served = (folder: string): string => {
  const [, host = ''] =
    /"baseUrl":"http:\/\/([^/"]+)/.exec(readFileSync(join(folder, 'serve.log'), 'utf8')) ?? [];
  return host;
};

export const title = (name: string, reason: string | null): string =>
  reason === null ? name : `${name} (skipped: ${reason})`;
