/** What a plane keeps of content in received telemetry, as its operator and its service decide together. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { captureInForce } from '../../../plane/config/content.ts';
import type { ContentCapture } from '../../../src/contract/projects.ts';
import { post, tool, traceId, traces } from '../../http/otlp/requests.ts';
import { bundleOf, startConfigured, textOf, type ConfiguredPlane } from '../support/configured.ts';

let plane: ConfiguredPlane;
afterEach(() => plane?.end());

const secret = { 'gen_ai.tool.call.arguments': '{"note":"a secret"}' };
let runs = 0;
/** What the plane keeps of the arguments of a call that it receives now. */
async function kept(): Promise<'none' | 'hashes' | 'full'> {
  const runId = `run-${++runs}`;
  const { origin } = new URL(plane.baseUrl);
  const span = tool(runs, { ...secret, 'session.id': runId }, { traceId: traceId(runs) });
  expect((await post({ origin, key: plane.key }, 'traces', traces(span))).status).toBe(200);
  const { metadata } = (await plane.call('GET', `/events?runId=${runId}`)).body.events[0];
  if (metadata.arguments === undefined) return 'none';
  return 'hash' in metadata.arguments ? 'hashes' : 'full';
}
const shown = async (): Promise<{ value: string; from: string }> =>
  (await plane.call('GET', '/governance/bundle')).body.plane.contentCapture;
const configured = (version: number, contentCapture?: ContentCapture): string =>
  textOf(
    bundleOf(version, [], {
      settings: { redactionKeys: [], ...(contentCapture === undefined ? {} : { contentCapture }) },
    }),
  );
const operatorSays = async (contentCapture: ContentCapture): Promise<void> => {
  const path = join(plane.dataDir, 'plane.json');
  const file = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...file, contentCapture }));
  plane = await plane.again();
};

describe('what is kept of content on a plane', () => {
  it.each([
    [undefined, undefined, 'hashes', 'default'],
    ['full', undefined, 'full', 'plane.json'],
    [undefined, 'full', 'full', 'service'],
    [undefined, 'none', 'none', 'service'],
    ['none', 'full', 'none', 'plane.json'],
    ['hashes', 'full', 'hashes', 'plane.json'],
    ['full', 'hashes', 'hashes', 'service'],
    ['full', 'full', 'full', 'service'],
  ] as const)('with %s in plane.json and %s of the service is %s, by %s', (own, ofService, value, from) => {
    expect(captureInForce(own, ofService)).toEqual({ value, from });
  });

  it('follows the signed configuration of the service at once, and the plane shows who decided it', async () => {
    plane = await startConfigured();
    expect(await kept()).toBe('hashes');
    await plane.apply(configured(2, 'full'));
    expect([await kept(), await shown()]).toEqual(['full', { value: 'full', from: 'service' }]);
    await plane.apply(configured(3, 'none'));
    expect([await kept(), await shown()]).toEqual(['none', { value: 'none', from: 'service' }]);
    await plane.apply(configured(4));
    expect([await kept(), await shown()]).toEqual(['hashes', { value: 'hashes', from: 'default' }]);
    expect((await plane.told('config.change.applied')).map(({ metadata }) => metadata)).toMatchObject([
      { contentCapture: 'full' },
      { contentCapture: 'none' },
      { contentCapture: null },
    ]);
  });

  it('is never more than the operator allows, also after a restart', async () => {
    plane = await startConfigured();
    await plane.apply(configured(2, 'full'));
    await operatorSays('none');
    expect([await kept(), await shown()]).toEqual(['none', { value: 'none', from: 'plane.json' }]);
    await operatorSays('full');
    expect([await kept(), await shown()]).toEqual(['full', { value: 'full', from: 'service' }]);
    await plane.apply(configured(3, 'hashes'));
    expect([await kept(), await shown()]).toEqual(['hashes', { value: 'hashes', from: 'service' }]);
  });

  it('is refused in a configuration with another word, which changes nothing', async () => {
    plane = await startConfigured();
    await plane.apply(configured(2, 'none'));
    const { status, body } = await plane.apply(configured(3, 'some' as never));
    expect([status, body.reason]).toEqual([400, 'unsupported']);
    expect(await kept()).toBe('none');
  });
});
