import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';

/** While events keep coming, the plane notices by itself. */
async function noticed(plane: TestPlane): Promise<void> {
  const post = () => plane.call('POST', '/events', { body: event() });
  await expect.poll(async () => (await post()).body.code, { timeout: 5000 }).toBe('STORAGE_FAULT');
  const { status, body } = await plane.call('GET', '/health/ready');
  expect(status).toBe(503);
  expect(body.reasons.some((reason: string) => reason.startsWith('database_replaced'))).toBe(true);
}

describe('a database removed from a running plane', () => {
  it.each([
    ['gov.db', 'removed', rmSync],
    ['gov.db', 'moved away', (path: string) => renameSync(path, `${path}.away`)],
    [
      'gov.db',
      'replaced by a copy',
      (path: string) => {
        copyFileSync(path, `${path}.copy`);
        renameSync(`${path}.copy`, path);
      },
    ],
    ['heads.db', 'removed', rmSync],
    ['lock', 'removed, so that a second process could start', rmSync],
  ] as const)(
    'the database file %s, %s, ends writing and readiness of a running plane',
    async (name, _how, take) => {
      const plane = await startPlane();
      expect((await plane.call('POST', '/events', { body: event() })).status).toBe(201);
      take(join(plane.dataDir, name));
      await noticed(plane);
      await plane.end();
    },
  );

  it('a database that receives writes is not mistaken for a replaced one', async () => {
    const plane = await startPlane();
    // the plane looks once a second
    for (const endMs = performance.now() + 2500; performance.now() < endMs;)
      expect((await plane.call('POST', '/events', { body: event() })).status).toBe(201);
    expect((await plane.call('GET', '/health')).body.reasons ?? []).not.toContainEqual(
      expect.stringContaining('database_replaced'),
    );
    await plane.end();
  });
});
