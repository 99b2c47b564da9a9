/** A full disk under a spool with receipts. Needs root on Linux, for a tmpfs. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../../src/client/create.ts';
import { EventRecorder } from '../../../src/client/index.ts';
import type { RecorderProblem } from '../../../src/client/recorder-options.ts';
import { Folder } from '../../cli/push/harness.ts';
import { mountSmall, takeRest } from '../../faults/full.ts';
import { startRecordingProxy } from '../../support/recording-proxy.ts';
import { startPlane } from '../../support/serving.ts';
import { sentEvent } from '../support/held.ts';

it('a full disk does not stop a recorder: what is in the spool is sent, and stored once', async ({
  skip,
}) => {
  const folder = new Folder();
  onTestFinished(() => folder.remove());
  const disk = join(folder.path, 'disk');
  mkdirSync(disk);
  const unmount = mountSmall(disk, 1);
  if (unmount === null) return skip('no right to mount a tmpfs');
  onTestFinished(unmount);
  const plane = await startPlane();
  onTestFinished(() => plane.end());
  const proxy = await startRecordingProxy();
  onTestFinished(() => proxy.close());
  const { pathname, port } = new URL(plane.baseUrl);
  const client = createClient({
    baseUrl: `${proxy.origin}${pathname}`,
    apiKey: plane.key,
    env: {},
    retries: 0,
  });
  const problems: RecorderProblem[] = [];
  const recorder = await EventRecorder.open(client, {
    spool: join(disk, 'spool'),
    batchSize: 1,
    onProblem: (problem) => problems.push(problem),
  });
  for (let n = 0; n < 20; n++) recorder.record(sentEvent(n));
  await recorder.saved();
  for (const name of ['rest', 'last pages']) takeRest(join(disk, name));
  proxy.port = Number(port);
  await recorder.flush();
  expect(recorder.counts).toMatchObject({ sent: 20, waiting: 0 });
  recorder.record(sentEvent(20, 'noroom'));
  await recorder.flush();
  expect(recorder.counts.dropped).toMatchObject({ disk: 1 });
  rmSync(join(disk, 'rest'));
  recorder.record(sentEvent(21));
  await recorder.flush();
  await recorder.close();
  expect(problems.filter(({ kind }) => kind === 'lost' || kind === 'contradicted')).toEqual([]);
  const { body } = await client.listEvents({ query: { runId: 'held' } });
  expect(body.events.map(({ clientEventId }) => clientEventId)).toEqual(
    [...Array.from({ length: 20 }, (_, n) => n), 21].map((n) => `held-${n}`),
  );
});
