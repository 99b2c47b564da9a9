/** The leaf of a loss, and which loss a log has to record. */
import { describe, expect, it } from 'vitest';
import { draftLoss, lossOf, readLoss, type LossRecord } from '../../../src/core/decided/loss.ts';
import { parseTimestamp } from '../../../src/core/time.ts';

const at = (second: number): string => `2026-01-01T00:00:0${second}.000Z`;
const ms = (second: number): number => parseTimestamp(at(second)) ?? 0;
const root = Buffer.alloc(32, 7);
const acked = (size: number, second: number) => ({ size, root, atMs: ms(second) });
const rootText = `sha256:${'07'.repeat(32)}`;
const newest: LossRecord = {
  at: at(5),
  from: 60,
  lost: 40,
  acked: { size: 100, root: rootText, at: at(3) },
};

describe('the leaf of a loss', () => {
  it('has its canonical form, and reads back', () => {
    const { record } = draftLoss({ from: 60, lost: 40, acked: newest.acked }, ms(5));
    expect(record).toBe(
      `{"_sd":[],"_sd_alg":"sha-256","acked":{"at":"${at(3)}","root":"${rootText}","size":100},` +
        `"at":"${at(5)}","from":60,"lost":40,"type":"gov.loss/1"}`,
    );
    expect(readLoss(record)).toEqual(newest);
  });

  it.each([
    '{"type":"gov.prune/1"}',
    '{"type":"gov.loss/1"}',
    '{"type":"gov.loss/1"',
    JSON.stringify({ type: 'gov.loss/1', ...newest, lost: -1 }),
    JSON.stringify({ type: 'gov.loss/1', ...newest, from: '60' }),
    JSON.stringify({ type: 'gov.loss/1', ...newest, acked: { ...newest.acked, size: null } }),
  ])('does not read %s', (record) => {
    expect(readLoss(record)).toBeNull();
  });
});

describe('the loss that a log has to record', () => {
  it('counts the leaves after the last one that the log kept', () => {
    expect(lossOf(acked(100, 3), { newest: null, sizeThen: 60 })).toEqual({
      from: 60,
      lost: 40,
      acked: newest.acked,
    });
  });

  it('a loss that another process has recorded is not recorded again', () => {
    expect(lossOf(acked(100, 3), { newest, sizeThen: 60 })).toBeNull();
    expect(lossOf(acked(80, 2), { newest, sizeThen: 60 })).toBeNull();
  });

  it('is only what another process did not know', () => {
    expect(lossOf(acked(103, 4), { newest, sizeThen: 60 })).toMatchObject({ from: 100, lost: 3 });
  });

  it('is another one if the log lost leaves again', () => {
    expect(lossOf(acked(70, 6), { newest, sizeThen: 65 })).toMatchObject({ from: 65, lost: 5 });
    expect(lossOf(acked(70, 5), { newest, sizeThen: 65 })).toMatchObject({ from: 65, lost: 5 });
  });

  it('is at least one leaf if the root differs and the times do not tell', () => {
    expect(lossOf(acked(100, 3), { newest: null, sizeThen: 120 })).toMatchObject({ from: 99, lost: 1 });
  });
});
