/** A plane whose database is replaced by an older copy: health names the loss until somebody acknowledges it. */
import { randomBytes } from 'node:crypto';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { planeServe } from '../../../../plane/serve/start.ts';
import { readPlaneFile } from '../../../../src/host/data/config.ts';
import { silentLog } from '../../../../src/service/call/log.ts';
import { openStore } from '../../../../src/store/sqlite/store.ts';
import { event } from '../../../store/support/fixture.ts';
import { emptyDirectory, gov } from '../../support/tool.ts';

const root = emptyDirectory();
const dataDir = join(root, 'plane');
const env = { GOV_CONFIG_DIR: join(root, 'config'), HOME: root };
const json = async (...argv: string[]): Promise<unknown> => {
  const { code, stdout, stderr } = await gov([...argv, '-o', 'json'], { env });
  if (code !== 0) throw new Error(stderr);
  return stdout === '' ? [] : JSON.parse(stdout);
};
const serve = async () => {
  const plane = await planeServe({
    dataDir,
    listen: '127.0.0.1:0',
    metricsListen: '127.0.0.1:0',
    log: silentLog,
  });
  onTestFinished(() => plane.close());
  return plane;
};

it('health, metrics and gov log losses name the number of lost leaves until it is acknowledged', async () => {
  const init = ['plane', 'init', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off'];
  expect(await gov(init, { env })).toMatchObject({ code: 0 });
  const main = join(dataDir, 'gov.db');
  const first = await serve();
  await first.close();
  copyFileSync(main, `${main}.old`);
  const { projectId } = readPlaneFile(join(dataDir, 'plane.json'));
  const store = openStore({ dataDir, clock: Date, randomBytes, reserveBytes: 0 });
  await store.append({ projectId, leaves: [event(), event(), event()] });
  await store.close();
  rmSync(main);
  copyFileSync(`${main}.old`, main);

  const plane = await serve();
  const authorization = `Bearer ${readFileSync(join(dataDir, 'local.key'), 'utf8').trim()}`;
  const health = async (): Promise<unknown> =>
    (await fetch(`${plane.baseUrl}/health`, { headers: { authorization } })).json();
  await expect
    .poll(health)
    .toMatchObject({ status: 'degraded', reasons: expect.arrayContaining(['acknowledged_lost: 3']) });
  const metrics = await (await fetch(plane.metricsUrl ?? '')).text();
  expect(metrics).toContain('\ngov_acknowledged_lost 3\n');
  const ready = await fetch(`${plane.baseUrl}/health/ready`);
  expect(ready.status).toBe(200);
  expect(await json('log', 'losses', 'list', '--data', dataDir)).toMatchObject({
    losses: [{ projectId, lost: 3 }],
  });
  expect(await json('log', 'losses', 'ack', '--data', dataDir)).toEqual({ losses: 1, lost: 3 });
  expect(await json('log', 'losses', 'list', '--data', dataDir)).toMatchObject({ losses: [] });
  expect(await health()).not.toMatchObject({ reasons: expect.arrayContaining(['acknowledged_lost: 3']) });
});

it('gov log losses names a directory that is not served', async () => {
  for (const verb of ['list', 'ack']) {
    const { code, stderr } = await gov(['log', 'losses', verb, '--data', root], { env });
    expect([code, stderr]).toEqual([5, expect.stringContaining(`expected a plane or a service in ${root}`)]);
  }
});
