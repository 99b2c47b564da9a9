/** The worker thread over PostgreSQL: its own connections, opened when a task first needs them. */
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ThreadWork } from '../../../src/host/process/thread-work.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { event, request, stored } from '../../store/support/fixture.ts';
import { missing, Processes, server } from '../../store/postgres/support/described.ts';

const wanted = { projectId: 'prj_a', runId: 'r1' };

describe.skipIf(missing !== null)('work in a thread, on PostgreSQL', () => {
  it('work in a thread reads what another process stored and returns rows', async () => {
    const processes = await Processes.on(server);
    await stored(processes.first, request([event(), event()]));
    const work = new ThreadWork(
      { engine: 'postgres', url: processes.database.serving, connections: 2 },
      silentLog,
    );
    const parts: string[] = [];
    const host = { stage: async ({ list }: { list: string }) => void parts.push(list) };
    const input = { ...wanted, graphId: 'grp_1', treeSize: 9, proves: false };
    const { facts } = await work.run('deriveGraph', input, { events: 2, host });
    expect([facts.events, parts.toSorted()]).toEqual([2, ['edges', 'nodes']]);
    await work.close();
    await processes.drop();
  });

  it('work in a thread without a database fails each task, and the thread stays alive', async () => {
    const died: string[] = [];
    const log = { ...silentLog, error: (_: object, message: string) => void died.push(message) };
    const refusing = createServer((socket) => void socket.destroy());
    await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
    const { port } = refusing.address() as AddressInfo;
    const work = new ThreadWork({ engine: 'postgres', url: `postgres://a:b@127.0.0.1:${port}/c` }, log);
    for (let tries = 0; tries < 2; tries += 1) {
      await expect(work.run('graphBody', wanted, { events: 1 })).rejects.toMatchObject({
        code: 'STORAGE_FAULT',
      });
    }
    expect(died).toEqual([]);
    await work.close();
    await new Promise((resolve) => refusing.close(resolve));
  });
});
