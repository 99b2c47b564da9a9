/** One lane over a real store; the receiver is scripted, so that it fails at every step. Real receivers: `stream.test.ts` and others. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { LogSource } from '../../../src/core/forwards/record.ts';
import { targetOf, type ForwardTarget, type TargetFile } from '../../../src/host/forwards/config.ts';
import { cursorKind, type Cursor } from '../../../src/host/forwards/cursor.ts';
import { Lane } from '../../../src/host/forwards/lane.ts';
import {
  failed,
  type Batch,
  type SendOutcome,
  type Transport,
} from '../../../src/host/forwards/transport.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { draftPrune } from '../../../src/core/decided/prune.ts';
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

let store: SqliteStore;
let clock: HandClock;
let dataDir: string;
beforeEach(async () => {
  dataDir = newFolder();
  clock = new HandClock();
  store = openStore({ dataDir, clock, randomBytes: seededBytes('lane'), reserveBytes: 0 });
  await store.createProject(projectOf('a'), genesis('a'));
});
afterEach(async () => {
  await store.close();
  dropFolder(dataDir);
});

const source: LogSource = {
  projectId: 'prj_a',
  organizationId: 'org_a',
  environment: 'production',
  origin: projectOf('a').auditOrigin,
};

const http: TargetFile = { name: 'siem', to: 'https://siem.example/in', from: 'start' };
const syslog: TargetFile = { name: 'siem', to: 'syslog+tls://siem.example', from: 'start' };
const target = (file: TargetFile): ForwardTarget => targetOf(file, { from: 'test', dataDir });

/** A receiver that remembers leaf indexes; `answer` may fail a batch. */
class Receiver {
  readonly got: number[] = [];
  batches = 0;
  opened = 0;
  confirms = 0;
  answer: (batch: Batch, state: unknown) => SendOutcome | null = () => null;
  confirmAnswer: SendOutcome = { ok: true, isKept: true };

  readonly open = async ({ kind }: ForwardTarget): Promise<Transport> => {
    this.opened += 1;
    const isKept = kind !== 'syslog';
    return {
      send: async (batch, state) => {
        this.batches += 1;
        const said = this.answer(batch, state);
        if (said !== null) return said;
        this.got.push(...batch.lines.map(({ index }) => index));
        return { ok: true, isKept };
      },
      ...(isKept
        ? {}
        : {
            confirm: async () => {
              this.confirms += 1;
              return this.confirmAnswer;
            },
          }),
      close: () => {},
    };
  };
}

const lane = (
  receiver: Receiver,
  file: TargetFile = http,
  more: { owner?: string; isShared?: boolean } = {},
): Lane =>
  new Lane(target(file), source, {
    store,
    now: () => clock.now(),
    random: () => 1,
    log: silentLog,
    hostname: 'here',
    owner: 'one',
    isShared: false,
    open: receiver.open,
    ...more,
  });

const record = async (count: number): Promise<void> =>
  void (await stored(store, request(Array.from({ length: count }, () => event()))));

const cursor = async (): Promise<Cursor> =>
  JSON.parse((await store.document('prj_a', cursorKind, 'siem'))!.data) as Cursor;
const upTo = (end: number, from = 0): number[] => Array.from({ length: end - from }, (_, at) => from + at);

/** Turns until the lane waits for the log or for a time. */
async function drain(each: Lane): Promise<Awaited<ReturnType<Lane['turn']>>> {
  for (;;) {
    const turn = await each.turn();
    if (turn.next !== 'again') return turn;
  }
}

describe('a lane', () => {
  it('sends every leaf once, in order, and stores the position', async () => {
    await record(2500);
    const receiver = new Receiver();
    await drain(lane(receiver));
    expect(receiver.got).toEqual(upTo(2501));
    expect(receiver.batches).toBe(3);
    clock.ms += 1000;
    expect(await cursor()).toMatchObject({ next: expect.any(Number) });
  });

  it('ends a batch by its bytes, also where a character has three', async () => {
    const texts = Array.from({ length: 60 }, () => event({ metadata: { text: '漢'.repeat(10_000) } }));
    await stored(store, request(texts));
    const receiver = new Receiver();
    const counts: number[] = [];
    receiver.answer = ({ lines }) => (counts.push(lines.length), null);
    await drain(lane(receiver, { ...http, content: 'full' }));
    expect(receiver.got).toEqual(upTo(61));
    expect(counts).toEqual([40, 21]);
  });

  it('starts at the end of the log where it starts now, and at the first leaf where it starts at the start', async () => {
    await record(3);
    const late = new Receiver();
    const each = lane(late, { ...http, from: 'now' });
    expect(await drain(each)).toEqual({ next: 'wait' });
    await record(2);
    await drain(each);
    expect(late.got).toEqual([4, 5]);
  });

  it('sends only records that pass the filter, and moves past the others', async () => {
    await record(3);
    const receiver = new Receiver();
    const each = lane(receiver, { ...http, eventTypes: ['gov.genesis'] });
    await drain(each);
    clock.ms += 1000;
    await drain(each);
    expect(receiver.got).toEqual([0]);
    expect(await cursor()).toMatchObject({ next: 4, records: 1 });
  });

  it('repeats a batch after a crash between the send and the save, with the same leaf indexes', async () => {
    await record(5);
    const receiver = new Receiver();
    await lane(receiver).turn();
    // the first process is gone before it saved; the next one has only what is stored
    expect((await cursor()).next).toBeLessThanOrEqual(6);
    const document = (await store.document('prj_a', cursorKind, 'siem'))!;
    const { projectId: _, ...rest } = document;
    const before = JSON.stringify({ ...(JSON.parse(document.data) as Cursor), next: 0 });
    await store.saveDocuments('prj_a', [{ save: { ...rest, data: before } }]);
    await lane(receiver).turn();
    expect(receiver.got).toEqual([...upTo(6), ...upTo(6)]);
  });

  it('after a failure waits longer each time, and then sends from the position', async () => {
    await record(3);
    const receiver = new Receiver();
    receiver.answer = () => failed('the receiver answered 503');
    const each = lane(receiver);
    const waits: number[] = [];
    for (let attempt = 0; attempt < 9; attempt++) {
      const turn = await each.turn();
      if (turn.next !== 'later') throw new Error(turn.next);
      waits.push(turn.atMs - clock.now());
      expect(await each.turn()).toEqual(turn); // not before its time
      clock.ms = turn.atMs;
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000));
    expect(each.status(4)).toMatchObject({
      state: 'failing',
      lastError: 'the receiver answered 503',
      lag: 4,
    });
    receiver.answer = () => null;
    await drain(each);
    expect(receiver.got).toEqual(upTo(4));
    expect(each.status(4)).toMatchObject({
      state: 'current',
      position: 4,
      records: 4,
      lag: 0,
      retryMs: null,
    });
    expect(await cursor()).toMatchObject({ next: 4, failingSinceMs: null });
  });

  it('waits for Retry-After, and a random time on top', async () => {
    await record(1);
    const receiver = new Receiver();
    receiver.answer = () => failed('busy', { retryAfterMs: 120_000 });
    expect(await lane(receiver).turn()).toEqual({ next: 'later', atMs: clock.now() + 121_000 });
  });

  it('finds the one record that the receiver refuses, leaves it out and counts it', async () => {
    await record(300);
    const receiver = new Receiver();
    receiver.answer = ({ lines }) =>
      lines.some(({ index }) => index === 137)
        ? failed('the receiver answered 400', { isRefused: true })
        : null;
    const each = lane(receiver);
    await drain(each);
    const [probe, ...got] = receiver.got.toSorted((a, b) => a - b);
    expect(probe).toBe(-1);
    expect(got).toEqual(upTo(301).filter((index) => index !== 137));
    expect(each.status(301)).toMatchObject({ records: 300, refused: 1, position: 301 });
  });

  it('leaves out no record for a receiver that refuses everything, and sends all once it takes some', async () => {
    await record(5);
    const receiver = new Receiver();
    receiver.answer = () => failed('the receiver answered 400', { isRefused: true });
    const each = lane(receiver);
    const turn = await each.turn();
    if (turn.next !== 'later') throw new Error(turn.next);
    expect(each.status(6)).toMatchObject({ state: 'failing', records: 0, refused: 0, position: 0 });
    receiver.answer = () => null;
    clock.ms = turn.atMs;
    await drain(each);
    expect(receiver.got).toEqual(upTo(6));
    expect(each.status(6)).toMatchObject({ state: 'current', records: 6, refused: 0 });
  });

  it('gives other lanes a turn after a few batches', async () => {
    await record(2000);
    const receiver = new Receiver();
    const small = lane(receiver);
    for (let at = 0; at < 6; at++) await record(2000);
    expect(await small.turn()).toEqual({ next: 'again' });
    expect(receiver.batches).toBe(limits.forwardTurnBatches);
  });

  it('tells the receiver of leaves that were pruned before they were sent, and keeps the gap in its status', async () => {
    await record(10);
    const receiver = new Receiver();
    receiver.answer = ({ lines }) => (lines.length > 1 ? failed('down') : null);
    const each = lane(receiver);
    await each.turn();
    const { root } = await store.head('prj_a', 'audit');
    const leaf = draftPrune({ minIndex: 8 } as never);
    await store.append(request([leaf], { effects: [{ kind: 'prune', minIndex: 8, root, leaf: 0 }] }));
    clock.ms += 1000;
    receiver.answer = () => null;
    const texts: string[] = [];
    receiver.answer = ({ lines }) => {
      texts.push(...lines.map(({ text }) => text));
      return null;
    };
    await drain(each);
    expect(JSON.parse(texts[0]!)).toMatchObject({ eventType: 'gov.forward.gap', data: { from: 0, to: 8 } });
    expect(receiver.got).toEqual([0, ...upTo(12, 8)]);
    expect(each.status(12)).toMatchObject({ gaps: [{ from: 0, to: 8 }], position: 12 });
  });

  it('of a new target starts at the first leaf that is there, without a gap', async () => {
    await record(10);
    const { root } = await store.head('prj_a', 'audit');
    await store.append(
      request([draftPrune({ minIndex: 8 } as never)], {
        effects: [{ kind: 'prune', minIndex: 8, root, leaf: 0 }],
      }),
    );
    const receiver = new Receiver();
    const each = lane(receiver);
    await drain(each);
    expect(receiver.got).toEqual(upTo(12, 8));
    expect(each.status(12)?.gaps).toEqual([]);
  });
});

describe('a lane of a transport without acknowledgement', () => {
  it('keeps its position until the receiver confirmed, and then moves it', async () => {
    await record(4);
    const receiver = new Receiver();
    const each = lane(receiver, syslog);
    expect(await drain(each)).toEqual({ next: 'later', atMs: clock.now() + 5000 });
    expect(each.status(5)).toMatchObject({ position: 0, lag: 5 });
    clock.ms += 5000;
    expect(await drain(each)).toMatchObject({ next: expect.stringMatching(/wait|later/) });
    expect(receiver.confirms).toBe(1);
    expect(each.status(5)).toMatchObject({ position: 5, records: 5 });
  });

  it('sends everything again that was not confirmed when the connection breaks', async () => {
    await record(4);
    const receiver = new Receiver();
    const each = lane(receiver, syslog);
    await drain(each);
    receiver.confirmAnswer = failed('the connection broke: read ECONNRESET');
    clock.ms += 5000;
    const turn = await each.turn();
    expect(turn.next).toBe('later');
    receiver.confirmAnswer = { ok: true, isKept: true };
    clock.ms += 1000;
    await drain(each);
    expect(receiver.got).toEqual([...upTo(5), ...upTo(5)]);
  });

  it('confirms and saves at the end of the process', async () => {
    await record(4);
    const receiver = new Receiver();
    const each = lane(receiver, syslog);
    await drain(each);
    await each.stop();
    expect(await cursor()).toMatchObject({ next: 5, leaseUntilMs: 0 });
  });
});

describe('a lane of a store with several processes', () => {
  it('only one process sends, until its lease ends', async () => {
    await record(2);
    const [first, second] = [new Receiver(), new Receiver()];
    const one = lane(first, http, { owner: 'one', isShared: true });
    const two = lane(second, http, { owner: 'two', isShared: true });
    await drain(one);
    expect(await two.turn()).toEqual({ next: 'later', atMs: clock.now() + 30_000 });
    clock.ms += 61_000;
    await record(1);
    await drain(two);
    expect(second.got.at(-1)).toBe(3);
    // the first process notices that the lane is no longer its own
    await record(1);
    expect((await one.turn()).next).toBe('later');
    expect(first.got).toEqual(upTo(3));
  });
});

describe('a lane of objects', () => {
  const objects: TargetFile = {
    name: 'siem',
    to: 's3://bucket',
    from: 'start',
    region: 'eu-central-1',
    accessKeyId: 'id',
    secretEnv: 'SECRET',
    everySeconds: 60,
  };

  it('waits for more leaves, and repeats a batch over the same leaves after a crash', async () => {
    await record(3);
    const ranges: (readonly [number, number])[] = [];
    const receiver = new Receiver();
    receiver.answer = ({ from, to }) => {
      ranges.push([from, to]);
      return failed('the process ends here');
    };
    const each = lane(receiver, objects);
    expect(await each.turn()).toEqual({ next: 'later', atMs: clock.now() + 60_000 });
    clock.ms += 60_000;
    await each.turn();
    await record(5);
    receiver.answer = ({ from, to }) => {
      ranges.push([from, to]);
      return { ok: true, isKept: true, state: { sequence: 0 } };
    };
    const after = lane(receiver, objects);
    await after.turn();
    expect(ranges.slice(0, 2)).toEqual([
      [0, 4],
      [0, 4],
    ]);
    expect((await cursor()).state).toEqual({ sequence: 0 });
  });

  it('sends to another bucket without the state of the one before', async () => {
    const receiver = new Receiver();
    const states: unknown[] = [];
    receiver.answer = ({ to }, state) => ({ ok: true, isKept: true, state: states.push(state) && to });
    for (const to of ['s3://one', 's3://two', 's3://one']) {
      await record(1);
      const each = lane(receiver, { ...objects, to });
      for (let n = 0; n < 2; n++, clock.ms += 60_000) await drain(each);
      await each.stop();
    }
    expect(states).toEqual([null, null, 2]);
  });
});
