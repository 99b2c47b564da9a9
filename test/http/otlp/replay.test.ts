/** Recorded exporters, sent to a plane as they were sent then: the same runs as importing their files, also twice. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { data, hasData } from '../../paths.ts';
import { decodeRequest } from '../../../src/core/intake/otlp/protobuf.ts';
import { tracesIn } from '../../../src/core/intake/formats/otlp.ts';
import { importRuns } from '../../../src/core/intake/registry.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { send } from '../../support/serving.ts';

interface Body {
  readonly signal: string;
  readonly bytes: Buffer;
}

/** The OTLP bodies of a folder in the order in which they were sent. */
const bodiesIn = (folder: string): Body[] =>
  readdirSync(data(folder))
    .toSorted()
    .flatMap((name) => {
      const [, signal] = /(traces|logs|metrics)(?:\.json)?$/.exec(name) ?? [];
      return signal === undefined ? [] : [{ signal, bytes: readFileSync(data(`${folder}/${name}`)) }];
    });

const isJson = ({ bytes }: Body): boolean => bytes[0] === 0x7b;

/** Sends a body; returns what became of its records. */
async function post(plane: TestPlane, body: Body): Promise<Record<string, number>> {
  const { status, headers } = await send('POST', `${plane.origin}/v1/${body.signal}`, {
    key: plane.key,
    raw: body.bytes,
    headers: { 'content-type': isJson(body) ? 'application/json' : 'application/x-protobuf' },
  });
  expect(status).toBe(200);
  const counts = [...String(headers['gov-records']).matchAll(/(\w+)=(\d+)/g)];
  return Object.fromEntries(counts.map(([, name = '', count]) => [name, Number(count)]));
}

/** Events by run as the importer of files makes them. */
function imported(bodies: readonly Body[]): Record<string, number> {
  const values = bodies.map((body) =>
    isJson(body) ? JSON.parse(body.bytes.toString('utf8')) : decodeRequest(body.bytes),
  );
  const traces = tracesIn(values);
  const runs = importRuns([{ value: values, line: 1 }], {
    format: 'otlp',
    importedAt: 0,
    sourceName: 'all',
    traces,
  });
  return Object.fromEntries([...runs].map(({ runId, events }) => [runId, events.length]));
}

async function recorded(plane: TestPlane): Promise<Record<string, number>> {
  const { body } = await plane.call('GET', '/runs?limit=200');
  const runs = (body.data as { runId: string; events: number }[]).filter(
    ({ runId }) => !runId.startsWith('gov.'),
  );
  return Object.fromEntries(runs.map(({ runId, events }) => [runId, events]));
}

describe.skipIf(!hasData)('recorded exporters (skipped without the recorded runs)', () => {
  it.each([
    // folder, records that are kept
    ['agents/claude-code-2.1.331-allowed', 32],
    ['agents/codex-0.169-allowed', 8],
    ['otlp/codex-cli-0.169', 20],
  ])('of %s give the run and the events of the files, sent once or twice', async (folder, records) => {
    const plane = await startPlane();
    const bodies = bodiesIn(folder);
    const sum = async (count: string): Promise<number> => {
      let total = 0;
      for (const body of bodies) total += (await post(plane, body))[count] ?? 0;
      return total;
    };
    expect(await sum('kept')).toBe(records);
    expect(await recorded(plane)).toEqual(imported(bodies));
    expect(await sum('repeated')).toBe(records);
    expect(await recorded(plane)).toEqual(imported(bodies));
    await plane.end();
  });

  it('of the AI SDK do so too, but for the one span that came before its trace was named', async () => {
    const plane = await startPlane();
    const bodies = bodiesIn('otlp/vercel-ai-sdk-7-genai.json');
    const early = 'trace:e165cee5bf2d995664cafe75a9feb0e4';
    for (const time of ['once', 'twice']) {
      for (const body of bodies) await post(plane, body);
      const { [early]: before, ...named } = await recorded(plane);
      expect(before, time).toBe(1);
      // in place of that span, its conversation says where it is
      expect(named, time).toEqual(imported(bodies));
    }
    const { body } = await plane.call('GET', '/events?runId=tau-airline-9-1&eventType=run.linked');
    expect(body.events.map(({ resource }: { resource: unknown }) => resource)).toEqual([
      { name: early, type: 'run' },
    ]);
    const { body: calls } = await plane.call('GET', '/events/count?eventType=tool.call');
    expect(calls.count).toBe(31);
    await plane.end();
  });
});
