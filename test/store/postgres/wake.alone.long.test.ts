/** How fast a process wakes its clients for an append of another process. */
import { describe, expect, it } from 'vitest';
import { Tail } from '../../../src/service/log/tail.ts';
import { appended, event, genesis, projectOf, request } from '../support/fixture.ts';
import { missing, Processes, server } from './support/described.ts';

describe.skipIf(missing !== null)('two processes', () => {
  it('a process wakes clients that wait for events within a second of an append elsewhere', async () => {
    const processes = await Processes.on(server);
    const [one, other] = [processes.first, await processes.start()];
    await other.createProject(projectOf('b'), genesis('b'));
    const tail = new Tail(one);
    const woken = { a: 0, b: 0 };
    const ends = [tail.watch('prj_a', () => (woken.a += 1)), tail.watch('prj_b', () => (woken.b += 1))];
    await expect.poll(() => woken).toEqual({ a: 1, b: 1 }); // the first look
    await appended(other, request([event()], { projectId: 'prj_b' }));
    await expect.poll(() => woken, { timeout: 1000 }).toEqual({ a: 1, b: 2 });
    const seen = await one.eventsAfter('prj_b', {}, { after: 0, limit: 10 });
    expect(seen.map(({ index }) => index)).toEqual([1]);
    for (const end of ends) end();
    await processes.drop();
  });
});
