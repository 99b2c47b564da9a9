/**
 * What a plane contacts: nobody where it is not enrolled, its service alone where it is. Whole planes as their operators run
 * them, made, served, written to, proved, backed up: in a network namespace without routes, and with every connect(2) of
 * every process watched by strace. What crosses to the service is looked at by `test/hybridstory.test.ts`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cleanEnv, emptyDirectory, ended, runner } from '../cli/tool.ts';
import { startService } from '../hosted.ts';
import { event } from '../serving.ts';
import { register } from './enrolled.ts';

const works = (...words: readonly string[]): boolean => {
  const [program = '', ...rest] = words;
  return spawnSync(program, rest, { stdio: 'ignore' }).status === 0;
};
const noNamespace = works('unshare', '-rn', 'sh', '-c', 'ip link set lo up')
  ? null
  : 'no namespaces here: unshare -rn or ip';
const noTrace = works('strace', '-f', '-o', '/dev/null', 'true') ? null : 'no strace here';

/** Every command has to end with 0, but for a status that is degraded. */
const serveAndWrite = `
'${process.execPath}' '${runner}' plane serve --data plane 2> serve.log & pid=$!
trap 'kill $pid; wait $pid' EXIT
for look in $(seq 300); do [ -e plane/run.json ] && break; sleep 0.1; done
gov events push more.ndjson
gov proofs create --run more
gov proofs verify "$(gov proofs list -o id | head -n 1)"
gov plane status || [ $? = 3 ]
gov plane backup -O backup
`;
const stop = 'trap - EXIT; kill $pid; wait $pid';
const make = 'gov plane init --data plane --listen 127.0.0.1:0 --metrics-listen off';

const slow = { timeout: 120_000 };
/** Before the test gives up: whatever hangs then is told, and ends. */
const mostMs = 90_000;

let folder: string;
beforeEach(() => {
  folder = emptyDirectory();
  const events = Array.from({ length: 20 }, (_, number) => event({ runId: 'more', metadata: { number } }));
  writeFileSync(join(folder, 'more.ndjson'), events.map((each) => JSON.stringify(each)).join('\n'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  readonly code: number | null;
  readonly said: string;
  /** Internet addresses that a process connected to, `HOST:PORT`; empty where nothing was traced. */
  readonly connected: ReadonlySet<string>;
}

/** Runs lines in a shell; `before` stands before it, such as `unshare -rn`. */
async function run(
  lines: string,
  { before = [], env = {} }: { before?: readonly string[]; env?: Record<string, string> } = {},
): Promise<Ran> {
  const trace = ['strace', '-f', '-qq', '-e', 'trace=connect,sendto', '-o', 'trace.txt'];
  const script = `set -e\ngov() { '${process.execPath}' '${runner}' "$@"; }\n${lines}`;
  const words = [...before, ...(noTrace === null ? trace : []), 'bash', '-c', script];
  const [program = '', ...rest] = words;
  const places = { GOV_CONFIG_DIR: join(folder, 'config'), XDG_STATE_HOME: join(folder, 'state') };
  const child = spawn(program, rest, { env: cleanEnv({ ...places, ...env }), cwd: folder, timeout: mostMs });
  const { code, stdout, stderr } = await ended(child);
  const text = noTrace === null ? readFileSync(join(folder, 'trace.txt'), 'utf8') : '';
  const calls = text.matchAll(/sin6?_port=htons\((\d+)\).*?"([^"]+)"/g);
  return {
    code,
    said: `${stdout}${stderr}`,
    connected: new Set([...calls].map(([, port, host]) => `${host}:${port}`)),
  };
}

const own = (): string => {
  const [, host = ''] =
    /"baseUrl":"http:\/\/([^/"]+)/.exec(readFileSync(join(folder, 'serve.log'), 'utf8')) ?? [];
  return host;
};

const title = (name: string, reason: string | null): string =>
  reason === null ? name : `${name} (skipped: ${reason})`;

describe.skipIf(noNamespace !== null)(title('a plane without a network', noNamespace), () => {
  it('is made, serves, records, proves, verifies and is backed up', slow, async () => {
    const lines = ['ip link set lo up', make, serveAndWrite, stop].join('\n');
    const { code, said, connected } = await run(lines, { before: ['unshare', '-rn'] });
    expect([code, said]).toEqual([0, expect.stringContaining('backup')]);
    // and it did not even try
    if (noTrace === null) expect([...connected]).toEqual([own()]);
  });
});

describe('a plane with a network', () => {
  it(title('contacts the service that it is enrolled with, and nobody else', noTrace), slow, async () => {
    const service = await startService();
    const trap = await startTrap();
    try {
      const { token } = await register(await service.signUp('ada'));
      const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
      const env = Object.fromEntries(proxies.map((name) => [name, trap.url]));
      const enrol = `gov plane enroll --service http://127.0.0.1:${service.port} --token ${token}`;
      const lines = [make, enrol, serveAndWrite, 'gov plane telemetry send', stop].join('\n');
      const { code, said, connected } = await run(lines, { env: { ...env, NO_PROXY: '127.0.0.1' } });
      expect([code, said]).toEqual([0, expect.stringContaining('backup')]);
      // whatever asks for another host would go through the proxies
      expect(trap.connections()).toBe(0);
      if (noTrace === null)
        expect([...connected].toSorted()).toEqual([own(), `127.0.0.1:${service.port}`].toSorted());
    } finally {
      await trap.close();
      await service.end();
    }
  });
});

/** A proxy that nobody should ask. */
async function startTrap(): Promise<{ url: string; connections(): number; close(): Promise<void> }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
