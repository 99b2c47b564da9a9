import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Batch } from '../../../src/client/sending/batch.ts';
import type { DeliveryResult } from '../../../src/client/sending/deliver.ts';
import { lockDirectory } from '../../../src/client/sending/directory-lock.ts';
import { Spool, type SpoolSession } from '../../../src/client/sending/spool.ts';
import { SpoolQueue } from '../../../src/client/sending/spool-queue.ts';
import { Folder } from '../../cli/push/harness.ts';
import { event, numbers } from '../../cli/push/service.ts';

let folder: Folder;
let directory: string;
beforeEach(() => {
  folder = new Folder();
  directory = join(folder.path, 'spool');
});
afterEach(() => folder.remove());

const session = (more: Partial<SpoolSession> = {}): SpoolSession => ({
  id: 's',
  target: 'here',
  sources: ['/in'],
  position: { source: 0, lanes: [-1] },
  ...more,
});
const batch = (n: number, more: Partial<Batch> = {}): Batch => ({
  key: `k${n}`,
  lane: 0,
  source: 0,
  sourceName: 'in',
  lines: [n + 1],
  events: [event(n)],
  positions: [n],
  last: n,
  ...more,
});
const accepted: DeliveryResult = { results: [{ eventId: 'evt_1', status: 'accepted' }], duplicates: 0 };
const rejected: DeliveryResult = {
  results: [{ eventId: null, status: 'rejected', reason: 'invalid_field: x' }],
  duplicates: 0,
};
const files = (): string[] => readdirSync(directory).toSorted();
const waitingKeys = (spool: Spool): string[] => spool.waiting().map((waiting) => spool.read(waiting).key);

describe('the spool', () => {
  it('the spool returns waiting batches in order after it was closed and opened', () => {
    const spool = Spool.open(directory);
    spool.begin(session());
    for (const n of numbers(5)) spool.append(batch(n));
    spool.close();
    const again = Spool.open(directory);
    expect(waitingKeys(again)).toEqual(['k0', 'k1', 'k2', 'k3', 'k4']);
    expect(again.read(again.waiting()[3]!)).toEqual(batch(3));
    again.close();
  });

  it('the spool drops acknowledged batches, and is empty when all are acknowledged', () => {
    const spool = Spool.open(directory);
    spool.begin(session());
    const waiting = numbers(3).map((n) => spool.append(batch(n)));
    spool.acknowledge(waiting[1]!, batch(1), accepted);
    spool.close();
    const again = Spool.open(directory);
    expect(waitingKeys(again)).toEqual(['k0', 'k2']);
    again.begin(session());
    again.end();
    for (const each of again.waiting()) again.acknowledge(each, batch(0), accepted);
    again.close();
    expect(files()).toEqual([]);
  });

  it('the spool starts a new file at its size limit, and removes each acknowledged file', () => {
    const spool = Spool.open(directory, 300);
    spool.begin(session());
    const waiting = numbers(4).map((n) => spool.append(batch(n)));
    expect(files().filter((name) => name.endsWith('queue')).length).toBe(4);
    spool.acknowledge(waiting[2]!, batch(2), accepted);
    expect(files()).toEqual(['00000001.queue', '00000002.queue', '00000004.queue', 'lock']);
    spool.close();
    const again = Spool.open(directory);
    expect(waitingKeys(again)).toEqual(['k0', 'k1', 'k3']);
    expect(again.newest()).toMatchObject({ position: { source: 0, lanes: [3] }, ended: false });
    again.close();
  });

  it('the spool knows the position of each lane of each source, across files and restarts', () => {
    const spool = Spool.open(directory, 200);
    spool.begin(session({ position: { source: 0, lanes: [-1, -1] } }));
    spool.append(batch(4, { lane: 1 }));
    spool.append(batch(7, { lane: 0 }));
    expect(reopened()).toEqual({ source: 0, lanes: [7, 4] });
    function reopened() {
      spool.close();
      const again = Spool.open(directory);
      try {
        return again.newest()?.position;
      } finally {
        again.close();
      }
    }
    const more = Spool.open(directory, 200);
    more.begin(session({ position: { source: 0, lanes: [7, 4] } }));
    more.append(batch(1, { lane: 1, source: 1 }));
    more.close();
    const last = Spool.open(directory);
    expect(last.newest()?.position).toEqual({ source: 1, lanes: [-1, 1] });
    last.close();
  });

  it('the spool keeps the read position of an acknowledged session until another session begins', () => {
    const spool = Spool.open(directory);
    spool.begin(session());
    spool.acknowledge(spool.append(batch(9)), batch(9), accepted);
    spool.close();
    const again = Spool.open(directory);
    expect(again.waiting()).toEqual([]);
    expect(again.newest()).toMatchObject({ ended: false, position: { lanes: [9] }, sources: ['/in'] });
    again.begin(session({ id: 'other' }));
    again.end();
    again.close();
    expect(files()).toEqual([]);
  });

  it('the spool keeps events that the service refused, with reason and line', () => {
    const spool = Spool.open(directory);
    spool.begin(session());
    spool.acknowledge(spool.append(batch(3)), batch(3), rejected);
    spool.acknowledge(spool.append(batch(4)), batch(4), accepted);
    const kept = readFileSync(spool.rejectedPath, 'utf8').trim().split('\n');
    expect(kept.map((line) => JSON.parse(line))).toEqual([
      { source: 'in', line: 4, reason: 'invalid_field: x', event: event(3) },
    ]);
    spool.close();
  });

  it('the spool sends no batch to another target than its own', () => {
    const spool = Spool.open(directory);
    spool.begin(session());
    spool.append(batch(0));
    expect(() => spool.requireTarget('here')).not.toThrow();
    expect(() => spool.requireTarget('there')).toThrow(/holds events for here, and these go to there/);
    spool.close();
  });

  it('the spool survives an empty file, acknowledgements without a queue, and a torn batch', () => {
    const spool = Spool.open(directory);
    spool.begin(session());
    spool.append(batch(0));
    spool.append(batch(1));
    spool.close();
    writeFileSync(join(directory, '00000007.queue'), '');
    writeFileSync(join(directory, '00000005.acks'), 'torn');
    const path = join(directory, '00000001.queue');
    writeFileSync(path, readFileSync(path).subarray(0, -5));
    const again = Spool.open(directory);
    expect(waitingKeys(again)).toEqual(['k0']);
    expect(again.newest()?.position).toEqual({ source: 0, lanes: [0] });
    expect(files()).toEqual(['00000001.queue', 'lock']);
    again.begin(session());
    expect(files()).toContain('00000008.queue');
    again.close();
  });

  it('the spool directory has mode 0700, and its files have mode 0600', async () => {
    const spool = Spool.open(directory);
    spool.begin(session());
    const { statSync } = await import('node:fs');
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, '00000001.queue')).mode & 0o777).toBe(0o600);
    spool.close();
  });
});

describe('the spool as a queue', () => {
  it('the spool queue gives earlier batches first, through lane 0, then each lane its own', async () => {
    const earlier = Spool.open(directory);
    earlier.begin(session());
    earlier.append(batch(0));
    earlier.append(batch(1));
    earlier.close();
    const spool = Spool.open(directory);
    const queue = new SpoolQueue(spool, 2);
    expect(queue.waitingEvents).toBe(2);
    spool.begin(session({ position: { source: 0, lanes: [-1, -1] } }));
    await queue.put(batch(5, { lane: 1 }));
    queue.close();
    const order: string[] = [];
    const run = async (lane: number): Promise<void> => {
      for (let next = await queue.take(lane); next !== null; next = await queue.take(lane)) {
        order.push(`${lane}:${next.key}`);
        await queue.settle(lane, next, accepted);
      }
    };
    await Promise.all([run(1), run(0)]);
    expect(order).toEqual(['0:k0', '0:k1', '1:k5']);
    expect(queue.waitingEvents).toBe(0);
    spool.close();
  });

  it('the spool queue gives a batch again that was taken and not settled', async () => {
    const spool = Spool.open(directory);
    spool.begin(session());
    const queue = new SpoolQueue(spool, 1);
    await queue.put(batch(0));
    expect((await queue.take(0))?.key).toBe('k0');
    expect((await queue.take(0))?.key).toBe('k0');
    queue.stop();
    expect(await queue.take(0)).toBeNull();
    spool.close();
  });
});

describe('the lock', () => {
  it('the lock of the spool admits one process at a time and is removed afterwards', () => {
    const spool = Spool.open(directory);
    expect(() => Spool.open(directory)).toThrow(/the spool is in use .*process \d+ on/);
    spool.close();
    expect(existsSync(join(directory, 'lock'))).toBe(false);
    Spool.open(directory).close();
  });

  it('the lock of the spool is taken over from a dead process, also when its process id is reused', () => {
    mkdirSync(directory, { recursive: true });
    for (const owner of [
      { pid: 2 ** 22 + 1, host: hostname(), started: 'x' },
      { pid: process.pid, host: hostname(), started: 'an earlier start' },
    ]) {
      writeFileSync(join(directory, 'lock'), JSON.stringify(owner));
      const release = lockDirectory(directory);
      expect(JSON.parse(readFileSync(join(directory, 'lock'), 'utf8')).pid).toBe(process.pid);
      release();
    }
    writeFileSync(join(directory, 'lock'), 'not ours');
    lockDirectory(directory)();
    expect(files()).toEqual([]);
  });

  it('the lock of the spool is left alone when its owner is on another machine or it is being taken over', () => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'lock'), JSON.stringify({ pid: 1, host: 'elsewhere', started: '' }));
    expect(() => lockDirectory(directory)).toThrow(/process 1 on elsewhere/);
    mkdirSync(join(directory, 'lock.takeover'));
    expect(() => lockDirectory(directory)).toThrow(/if no process is, remove/);
  });
});
