/**
 * Frameworks of JavaScript with their real telemetry against a real plane, compared call by call with what each program
 * did. The packages are large, and no dependencies of the project, so these tests are skipped without them. By hand:
 *
 *   npm install --ignore-scripts --legacy-peer-deps --prefix /tmp/frameworks @opentelemetry/sdk-node \
 *     @opentelemetry/exporter-trace-otlp-proto @langfuse/otel @langfuse/tracing ai @ai-sdk/otel @ai-sdk/openai @google/adk \
 *     langchain @langchain/core @langchain/openai @arizeai/openinference-instrumentation-langchain zod
 *   GOV_TELEMETRY_PACKAGES=/tmp/frameworks GOV_TEST_LONG=1 scripts/with-node vitest run test/real/telemetry.long.test.ts
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ended } from '../cli/support/tool.ts';
import { startPlaneProcess, type PlaneProcess } from './support/plane.ts';
import { startPlane } from '../support/serving.ts';
import { post, traces } from '../http/otlp/requests.ts';
import { runAgents } from './support/openai-agents.ts';
import { programs } from './support/telemetry-programs.ts';

const packages = process.env['GOV_TELEMETRY_PACKAGES'];
const folder = join(packages ?? '', 'gov-programs');

interface Did {
  readonly calls: readonly number[];
  /** How often the model was asked. */
  readonly asked: number;
}

describe.skipIf(packages === undefined)(
  'telemetry of frameworks (skipped without GOV_TELEMETRY_PACKAGES)',
  () => {
    let plane: PlaneProcess;
    beforeAll(async () => {
      plane = await startPlaneProcess();
      mkdirSync(folder, { recursive: true });
      for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, `${name}.mjs`), text);
    }, 60_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true, force: true });
      await plane.end();
    });

    const runs = async (): Promise<string[]> =>
      (await plane.client.listRuns({ query: { limit: 100 } })).body.data
        .map(({ runId }) => runId)
        .filter((runId) => !runId.startsWith('gov.'));

    async function start(name: string): Promise<Did> {
      const key = readFileSync(join(plane.dataDir, 'local.key'), 'utf8').trim();
      const child = spawn(process.execPath, [join(folder, `${name}.mjs`)], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          PATH: process.env['PATH'],
          HOME: folder,
          OTEL_SERVICE_NAME: name,
          OTEL_METRICS_EXPORTER: 'none',
          OTEL_EXPORTER_OTLP_ENDPOINT: new URL(plane.baseUrl).origin,
          OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
          OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${key}`,
        },
      });
      const { stdout, stderr } = await ended(child);
      const [line = ''] = stdout.trim().split('\n').slice(-1);
      expect(line, stderr).toMatch(/^\{"calls":/);
      return JSON.parse(line) as Did;
    }

    it.each([
      ['langfuse', ['ok', 'error']],
      // the tool of the program turns the error into a text
      ['langchain', ['ok', 'ok']],
      ['ai-sdk', ['ok', 'error']],
      // the span of a tool that threw has nothing but its name
      ['adk', ['ok', null]],
    ] as const)(
      '%s: each call and each answer of the model once',
      async (name, endings) => {
        const before = await runs();
        const did = await start(name);
        expect(did.calls).toEqual([5, 500]);
        const made = (await runs()).filter((runId) => !before.includes(runId));
        expect(made).toHaveLength(1);
        const [runId = ''] = made;
        const { body } = await plane.client.getRunCoverage({ params: { runId } });
        expect(body.calls.map(({ tool, ending }) => [tool, ending])).toEqual(
          endings.map((each) => ['pay', each]),
        );
        const { body: models } = await plane.client.countEvents({
          query: { runId, eventType: 'model.invoked' },
        });
        expect(models.count).toBe(did.asked);
      },
      60_000,
    );
  },
);

it('OpenAI Agents JS: each call and each answer of the model once', async () => {
  const plane = await startPlane();
  try {
    const did = await runAgents();
    expect([did.calls, did.asked]).toEqual([[5, 500], 3]);
    for (const span of did.spans) expect((await post(plane, 'traces', traces(span))).status).toBe(200);
    const { data } = (await plane.call('GET', '/runs')).body;
    const runs = data.filter(({ runId }: { runId: string }) => runId.startsWith('trace:'));
    expect(runs).toHaveLength(1);
    const { calls } = (await plane.call('GET', `/runs/${runs[0].runId}/coverage`)).body;
    // the tool turns the error into a text for the model, and its span says that it failed. The ids are of the model's span
    expect(calls).toMatchObject([
      { callId: 'call_0', tool: 'pay', ending: 'ok' },
      { callId: 'call_1', tool: 'pay', ending: 'error' },
    ]);
    const count = `/events/count?runId=${runs[0].runId}&eventType=model.invoked`;
    expect((await plane.call('GET', count)).body).toEqual({ count: did.asked });
  } finally {
    await plane.end();
  }
}, 60_000);
