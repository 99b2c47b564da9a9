/**
 * What a plane contacts: nobody where it is not enrolled, its service alone where it is. Whole planes as their operators run
 * them, made, served, written to, proved, backed up: in a network namespace without routes, and with every connect(2) of
 * every process watched by strace. What crosses to the service is looked at by `test/docs/hybrid-story.long.test.ts`.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { emptyDirectory } from '../cli/support/tool.ts';
import { startService } from '../support/hosted.ts';
import { event } from '../support/serving.ts';
import { register } from './support/enrolled.ts';
import {
  makeLine,
  noNamespace,
  noTrace,
  run,
  served,
  serveLines,
  stopLine,
  title,
} from './support/isolated.ts';

const writes = `
gov events push more.ndjson
gov proofs create --run more
gov proofs verify "$(gov proofs list -o id | head -n 1)"
gov plane status || [ $? = 3 ]
gov plane backup -O backup
`;

const slow = { timeout: 120_000 };

let folder: string;
beforeEach(() => {
  folder = emptyDirectory();
  const events = Array.from({ length: 20 }, (_, number) => event({ runId: 'more', metadata: { number } }));
  writeFileSync(join(folder, 'more.ndjson'), events.map((each) => JSON.stringify(each)).join('\n'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(noNamespace !== null)(title('a plane without a network', noNamespace), () => {
  it(
    'a plane without a network is made, serves, records, proves, verifies and is backed up',
    slow,
    async () => {
      const lines = ['ip link set lo up', makeLine, serveLines, writes, stopLine].join('\n');
      const { code, said, connected } = await run(lines, { folder, before: ['unshare', '-rn'] });
      expect([code, said]).toEqual([0, expect.stringContaining('backup')]);
      // and it did not even try
      if (noTrace === null) expect([...connected]).toEqual([served(folder)]);
    },
  );
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
      const lines = [makeLine, enrol, serveLines, writes, 'gov plane telemetry send', stopLine].join('\n');
      const { code, said, connected } = await run(lines, { folder, env: { ...env, NO_PROXY: '127.0.0.1' } });
      expect([code, said]).toEqual([0, expect.stringContaining('backup')]);
      // whatever asks for another host would go through the proxies
      expect(trap.connections()).toBe(0);
      if (noTrace === null)
        expect([...connected].toSorted()).toEqual([served(folder), `127.0.0.1:${service.port}`].toSorted());
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
