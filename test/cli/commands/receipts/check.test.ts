import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HeldSpool, recorded, RestoredPlane, sentEvent } from '../../../client/support/held.ts';
import { emptyDirectory, govHere } from '../../support/tool.ts';

let plane: RestoredPlane;
let cwd: string;
beforeEach(async () => {
  plane = await RestoredPlane.start();
  cwd = mkdtempSync(join(tmpdir(), 'gov-check-'));
  await run('trust', 'fetch', '-O', 'keys');
});
afterEach(async () => {
  await plane.end();
  rmSync(cwd, { recursive: true, force: true });
});

const run = (...argv: string[]) =>
  govHere(argv, {
    env: { GOV_CONFIG_DIR: emptyDirectory(), GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key },
    cwd,
  });

async function check(...more: string[]): Promise<[number | null, Record<string, unknown>[]]> {
  const { code, stdout, stderr } = await run(
    'receipts',
    'check',
    '--spool=spool',
    '--trust',
    'keys',
    '-o',
    'json',
    ...more,
  );
  expect(stdout, stderr).not.toBe('');
  return [code, (JSON.parse(stdout) as { receipts: Record<string, unknown>[] }).receipts];
}

describe('gov receipts check', () => {
  it('kept receipts end with 0, also under a checkpoint of somebody else', async () => {
    const held = new HeldSpool(join(cwd, 'spool'));
    await held.acknowledge([sentEvent(1)], await recorded(plane.client(), [sentEvent(1)]));
    held.close();
    expect(await check()).toMatchObject([0, [{ outcome: 'kept', lost: 0, evidence: null }]]);
    const { bytes } = await plane.client().getCheckpoint();
    writeFileSync(join(cwd, 'seen'), bytes);
    expect(await check('--checkpoint', 'seen')).toMatchObject([0, [{ outcome: 'kept' }]]);
  });

  it('a stored event that is not what the spool sent ends with 3', async () => {
    const held = new HeldSpool(join(cwd, 'spool'));
    const receipts = await recorded(plane.client(), [sentEvent(1)]);
    await held.acknowledge([{ ...sentEvent(1), action: 'another' }], receipts);
    held.close();
    const [code, [row]] = await check();
    expect([code, row]).toMatchObject([3, { outcome: 'content_differs' }]);
    expect(row?.['detail']).toMatch('action of event evt_');
  });

  it('a directory that an older copy replaced breaks receipts, and anybody verifies the evidence', async () => {
    await recorded(plane.client(), [sentEvent(0, 'before')]);
    await plane.save();
    const held = new HeldSpool(join(cwd, 'spool'));
    await held.acknowledge([sentEvent(1)], await recorded(plane.client(), [sentEvent(1)]));
    held.close();
    await plane.restore();
    await recorded(
      plane.client(),
      [1, 2, 3, 4, 5, 6].map((n) => sentEvent(n, 'others')),
    );
    const [code, [row]] = await check();
    expect([code, row]).toMatchObject([3, { outcome: 'broken', lost: 1 }]);
    const file = String(row?.['evidence']);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ kind: 'broken_receipt' });
    const verified = await run('evidence', 'verify', file, '--trust', 'keys', '-o', 'json');
    expect([verified.code, JSON.parse(verified.stdout)]).toMatchObject([
      0,
      { verified: true, shows: 'broken_receipt' },
    ]);
  });

  it('a log that gives no proof, and a receipt by another key, end with 10', async () => {
    const held = new HeldSpool(join(cwd, 'spool'));
    await held.acknowledge([sentEvent(1)], await recorded(plane.client(), [sentEvent(1)]));
    held.close();
    const other = await RestoredPlane.start();
    await recorded(other.client(), [sentEvent(1)]);
    const { bytes } = await other.client().getLogKey();
    await other.end();
    writeFileSync(
      join(cwd, 'stranger'),
      `log ${Buffer.from(bytes).toString().split('\n')[0]}\nquorum none\n`,
    );
    const { code, stdout } = await run(
      'receipts',
      'check',
      '--spool=spool',
      '--trust',
      'stranger',
      '-o',
      'json',
    );
    expect([code, JSON.parse(stdout).receipts]).toMatchObject([10, [{ outcome: 'refused' }]]);
  });

  it('without a spool and without a trusted key the command ends with 2', async () => {
    expect((await run('receipts', 'check', '--spool=nowhere', '--trust', 'keys')).code).toBe(2);
    expect((await run('receipts', 'check', '--spool=spool')).code).toBe(2);
  });
});
