/** A lane over a real store, whose receiver refuses records as the HTTP Event Collector of Splunk does. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HttpTransport } from '../../../src/host/forwards/http.ts';
import { Lane } from '../../../src/host/forwards/lane.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { openStore, type SqliteStore } from '../../../src/store/sqlite/store.ts';
import {
  dropFolder,
  event,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  request,
  seededBytes,
  stored,
} from '../../store/support/fixture.ts';
import { source } from '../../core/forwards/samples.ts';
import { options, target } from './support/batches.ts';
import { startCollector, type Collector } from './support/receivers.ts';

let store: SqliteStore;
let clock: HandClock;
let dataDir: string;
let hec: Collector | undefined;
beforeEach(async () => {
  dataDir = newFolder();
  clock = new HandClock();
  store = openStore({ dataDir, clock, randomBytes: seededBytes('lane'), reserveBytes: 0 });
  await store.createProject(projectOf('a'), genesis('a'));
});
afterEach(async () => {
  await hec?.close();
  await store.close();
  dropFolder(dataDir);
});

const record = async (count: number): Promise<void> =>
  void (await stored(store, request(Array.from({ length: count }, () => event()))));

function laneTo({ url }: Collector): Lane {
  const to = target('http', { to: url, from: 'start', shape: 'splunk' });
  return new Lane(
    to,
    { ...source, projectId: 'prj_a', origin: projectOf('a').auditOrigin },
    {
      store,
      now: () => clock.now(),
      random: () => 1,
      log: silentLog,
      hostname: 'here',
      owner: 'one',
      isShared: false,
      open: async () => new HttpTransport(to, options),
    },
  );
}

const isProbe = -1;
const poison = new Set([20, 21, 45, 63]);
const others = Array.from({ length: 64 }, (_, at) => at).filter((at) => !poison.has(at));
const isPoison = (index: number): boolean => poison.has(index);

describe('a lane to a receiver that refuses records', () => {
  it('continues after the event that Splunk names, and sends no copy', async () => {
    hec = await startCollector(isPoison);
    await record(63);
    const lane = laneTo(hec);
    await lane.turn();
    expect(hec.indexed).toEqual(others);
    expect(hec.requests).toBe(4); // nothing is left to send after the last one
    expect(lane.status(64)).toMatchObject({ records: 60, refused: 4, position: 64, lag: 0 });
  });

  it.each<[what: string, numberOf: (at: number) => unknown]>([
    ['is beyond the batch', () => 64],
    ['is below 0', () => -1],
    ['is a text', String],
    ['is missing', () => undefined],
  ])('sends halves where the number of the event %s, and loses no record', async (_, numberOf) => {
    hec = await startCollector(isPoison, numberOf);
    await record(63);
    const lane = laneTo(hec);
    await lane.turn();
    const indexed = new Set(hec.indexed.filter((index) => index !== isProbe));
    expect([...indexed].toSorted((a, b) => a - b)).toEqual(others);
    expect(hec.indexed.length).toBeGreaterThan(others.length);
    expect(lane.status(64)).toMatchObject({ records: 60, refused: 4, position: 64, lag: 0 });
  });

  it('after a failure in the middle of a batch continues where the receiver stopped', async () => {
    hec = await startCollector(isPoison);
    hec.isDown = (requests) => requests === 2;
    await record(63);
    const lane = laneTo(hec);
    const turn = await lane.turn();
    if (turn.next !== 'later') throw new Error(turn.next);
    expect(lane.status(64)).toMatchObject({ state: 'failing', records: 20, refused: 1, position: 21 });
    clock.ms = turn.atMs;
    await lane.turn();
    expect(hec.indexed).toEqual(others);
    expect(lane.status(64)).toMatchObject({ state: 'current', records: 60, refused: 4, position: 64 });
  });
});
