/** A backup of a plane that builds exports, and what a restore of it hands out. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { govHere, serving, type Result, type Serving } from '../../cli/support/tool.ts';
import { exportEnd } from '../../service/support/filled.ts';
import { event, send } from '../../support/serving.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-exported-'));
const env = { GOV_CONFIG_DIR: join(folder, 'config') };
const at = (name: string): string => join(folder, name);
const tool = (...words: string[]): Promise<Result> => govHere(words, { env, cwd: folder });
const running: Serving[] = [];
afterAll(() => {
  for (const each of running) each.child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function serve(dataDir: string): Promise<Serving> {
  const plane = await serving(['plane', 'serve', '--data', dataDir], { env, cwd: folder });
  running.push(plane);
  return plane;
}

it('a backup restores a plane with its completed exports, also when one is built during the backup', async () => {
  const dataDir = at('exported');
  await tool('plane', 'init', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off');
  const plane = await serve(dataDir);
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  for (let n = 0; n < 5; n++)
    await send('POST', `${plane.baseUrl}/events`, { key, body: event({ runId: 'kept' }) });
  const exported = async (): Promise<string> => {
    const body = { resource: 'audit_events', format: 'json', includeProof: true };
    return (await send('POST', `${plane.baseUrl}/exports`, { key, body })).body.exportId;
  };
  const download = (baseUrl: string, id: string) => send('GET', `${baseUrl}/exports/${id}/download`, { key });
  const call = (method: string, path: string) => send(method, `${plane.baseUrl}${path}`, { key });
  const first = await exported();
  expect((await exportEnd(call, first)).status).toBe('completed');
  const whole = await download(plane.baseUrl, first);
  // a proof makes the plane sign what it has
  await send('POST', `${plane.baseUrl}/proofs`, { key, body: { runId: 'kept' } });
  const signed = (await send('GET', `${plane.baseUrl}/log/checkpoint`, { key })).text;
  const stop = new AbortController();
  const building = (async () => {
    // one after the other, so that some are complete and one is built whenever something is copied
    for (let n = 0; n < 8 && !stop.signal.aborted; n++) {
      const exportId = await exported();
      await exportEnd(call, exportId);
    }
  })();
  const made = await tool('plane', 'backup', '--data', dataDir, '--out', at('exports'), '--with-keys');
  stop.abort();
  await building;
  expect(made).toMatchObject({ code: 0 });
  expect(readdirSync(join(at('exports'), 'exports'), { recursive: true }).join()).not.toContain('.part');
  await plane.stop();
  writeFileSync(at('exported.txt'), signed);
  const argv = ['plane', 'restore', at('exports'), '--data', at('exports.back')];
  expect(await tool(...argv, '--last-checkpoint', at('exported.txt'))).toMatchObject({ code: 0 });
  const back = await serve(at('exports.back'));
  const complete = await send('GET', `${back.baseUrl}/exports?status=completed&limit=100`, { key });
  expect(complete.body.data.at(-1).exportId).toBe(first);
  for (const { exportId, sizeBytes } of complete.body.data) {
    const { status, bytes } = await download(back.baseUrl, exportId);
    expect([status, bytes.length]).toEqual([200, sizeBytes]);
  }
  expect((await download(back.baseUrl, first)).bytes.equals(whole.bytes)).toBe(true);
  await back.stop();
});
