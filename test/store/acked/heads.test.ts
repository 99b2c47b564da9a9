/** Acknowledged heads in their file: two copies, torn ones, several processes, and the losses that they showed. */
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAcked, type AckedHead } from '../../../src/store/acked/heads.ts';
import { acknowledgeLosses, lostLeaves, readLosses } from '../../../src/store/acked/losses.ts';
import { dropFolder, newFolder } from '../support/fixture.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = newFolder();
});
afterEach(() => dropFolder(dataDir));

const file = (): string => join(dataDir, 'acked.bin');
const head = (size: number): AckedHead => ({ size, root: Buffer.alloc(32, size % 256), atMs: 1000 + size });
const loss = {
  at: '2026-01-01T00:00:05.000Z',
  from: 6,
  lost: 4,
  acked: { size: 10, root: `sha256:${'0a'.repeat(32)}`, at: '2026-01-01T00:00:03.000Z' },
};

describe('acknowledged heads', () => {
  it('the newest head of each log is found again after a restart', () => {
    const acked = openAcked(dataDir);
    expect(acked.find('prj_a')).toBeNull();
    for (const size of [1, 2, 2 ** 33, 7]) acked.raise('prj_a', head(size));
    acked.raise('prj_b', head(3));
    acked.close();
    const again = openAcked(dataDir);
    expect(again.find('prj_a')).toEqual(head(2 ** 33));
    expect(again.find('prj_b')).toEqual(head(3));
    expect(statSync(file()).size).toBe(2 * 128);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    again.close();
  });

  it('any flipped bit in a copy leaves the other copy, never another head', () => {
    const acked = openAcked(dataDir);
    for (const size of [1, 2, 3]) acked.raise('prj_a', head(size));
    acked.close();
    const whole = readFileSync(file());
    for (let bit = 0; bit < whole.length * 8; bit += 1) {
      const torn = Buffer.from(whole);
      torn[bit >> 3]! ^= 1 << (bit & 7);
      writeFileSync(file(), torn);
      const damaged = openAcked(dataDir);
      expect([null, 2, 3]).toContain(damaged.find('prj_a')?.size ?? null);
      damaged.close();
    }
  });

  it('a part of a pair at the end, which a crash of the machine may leave, is removed', () => {
    const acked = openAcked(dataDir);
    acked.raise('prj_a', head(1));
    acked.raise('prj_b', head(2));
    acked.close();
    truncateSync(file(), 200);
    const again = openAcked(dataDir);
    expect(again.find('prj_b')).toBeNull();
    again.raise('prj_c', head(3));
    again.raise('prj_b', head(4));
    expect(['prj_a', 'prj_b', 'prj_c'].map((id) => again.find(id)?.size)).toEqual([1, 4, 3]);
    again.close();
  });

  it('processes of one directory see the heads of each other, and none lowers them', () => {
    const [one, other] = [openAcked(dataDir), openAcked(dataDir)];
    one.raise('prj_a', head(1));
    other.raise('prj_a', head(5));
    other.raise('prj_b', head(2));
    one.raise('prj_b', head(1));
    one.raise('prj_a', head(4));
    expect(one.find('prj_a')).toEqual(head(5));
    expect(one.find('prj_b')).toEqual(head(2));
    expect(statSync(file()).size).toBe(2 * 128);
    one.close();
    other.close();
  });

  it('a directory that keeps no file remembers until the process ends', () => {
    const warnings: string[] = [];
    const acked = openAcked(join(dataDir, 'missing'), (text) => warnings.push(text));
    acked.raise('prj_a', head(3));
    expect(acked.find('prj_a')).toEqual(head(3));
    acked.recorded('prj_a', head(2), loss);
    expect(acked.find('prj_a')).toEqual(head(2));
    expect(acked.losses()).toEqual([{ projectId: 'prj_a', ...loss }]);
    expect(warnings[0]).toContain('acknowledged heads are remembered only until this process ends');
    acked.close();
  });
});

describe('losses of acknowledged leaves', () => {
  it('a recorded loss lowers the head, and is kept until somebody acknowledges it', () => {
    const warnings: string[] = [];
    const acked = openAcked(dataDir, (text) => warnings.push(text));
    for (const size of [9, 10]) acked.raise('prj_a', head(size));
    acked.recorded('prj_a', head(8), loss);
    acked.recorded('prj_a', head(8), loss);
    expect(acked.find('prj_a')).toEqual(head(8));
    expect(warnings[0]).toMatch(/^acknowledged_lost: project prj_a lacks 4 .* from leaf 6 to 9: /);
    expect(readLosses(dataDir)).toEqual([{ projectId: 'prj_a', ...loss }]);
    expect(lostLeaves(acknowledgeLosses(dataDir))).toBe(4);
    expect(acked.losses()).toEqual([]);
    acked.close();
  });

  it('a line that a crash cut is left out, and the next loss is kept', () => {
    const acked = openAcked(dataDir);
    acked.recorded('prj_a', head(1), loss);
    const path = join(dataDir, 'losses.ndjson');
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, -9));
    expect(readLosses(dataDir)).toEqual([]);
    acked.recorded('prj_b', head(1), loss);
    expect(readLosses(dataDir)).toEqual([{ projectId: 'prj_b', ...loss }]);
    acked.close();
  });
});
