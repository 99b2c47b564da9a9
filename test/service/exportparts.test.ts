/** Exports of a log that is long enough to be built in parts: whoever builds them, and whenever they come, the bytes are the same. */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExportFormat } from '../../src/contract/exports.ts';
import { GovError } from '../../src/contract/problems.ts';
import { exportRow } from '../../src/core/exportrow.ts';
import { csvHeader, csvRow } from '../../src/core/csv.ts';
import { readJson, type Json, type JsonObject } from '../../src/core/json.ts';
import { columnsOf } from '../../src/service/exportcolumns.ts';
import { exportPart } from '../../src/service/exportpart.ts';
import { exportTask } from '../../src/service/exporttask.ts';
import type {
  ExportInput,
  ExportOutput,
  ExportPart,
  ExportPartInput,
  TaskHost,
} from '../../src/service/work.ts';
import { engines, startService, type Tenant, type TestService } from '../hosted.ts';
import { event } from '../serving.ts';
import { exportEnd } from './filled.ts';

const events = 5000;
/** Of events from here on some are so large that what was asked for as one part becomes several. */
const largeFrom = 4000;
const eventType = 'tool.call';

describe.each(engines)('an export on %s that is built in parts', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let input: Omit<ExportInput, 'format'>;

  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    for (let at = 0; at < events; at += 250) {
      const batch = Array.from({ length: 250 }, (_, n) => {
        const text = at >= largeFrom && n % 5 === 0 ? 'ä;"'.repeat(3000) : `=${at + n}`;
        return event({ eventType: n % 3 === 0 ? 'agent.step' : eventType, metadata: { text } });
      });
      await tenant.call('POST', '/events/batch', { body: { events: batch } });
    }
    const { size: treeSize, root } = await service.services.store.head(projectId, 'audit');
    const asked = { resource: 'audit_events', filters: '{}', isProved: false } as const;
    const times = { createdMs: 0, jobsUntilMs: 0, prunedBelow: 0 };
    input = { ...asked, ...times, projectId, exportId: 'exp_a', treeSize, root };
  });
  afterAll(() => service.end());

  const context = (host: Partial<TaskHost>) => ({
    reader: service.services.store,
    host: host as TaskHost,
    breathe: async () => void (await nextTurn()),
  });
  const inPlace = (part: ExportPartInput): Promise<ExportPart> => exportPart(context({}), part);

  /** What the task writes, with parts from `part`. */
  async function built(
    part: TaskHost['part'],
    asked: Partial<ExportInput> & { readonly format: ExportFormat },
  ): Promise<{ text: string; output: ExportOutput }> {
    const chunks: Buffer[] = [];
    const write = async (bytes: Uint8Array): Promise<Uint8Array> => {
      chunks.push(Buffer.from(bytes));
      return bytes;
    };
    const output = await exportTask(context({ write, part }), { ...input, ...asked });
    const bytes = Buffer.concat(chunks);
    expect(output.sizeBytes).toBe(bytes.length);
    expect(createHash('sha256').update(bytes).digest().equals(output.digest)).toBe(true);
    return { text: bytes.toString('utf8'), output };
  }

  /** The rows as the log has them, each read alone. */
  async function rows(type?: string): Promise<string[]> {
    const leaves = await service.services.store.leaves(input.projectId, 'audit', {
      from: 0,
      to: input.treeSize,
    });
    return leaves
      .filter(({ record }) => record.endsWith('"type":"gov.event/1"}'))
      .map((leaf) => exportRow('audit_events', leaf))
      .filter((row) => type === undefined || row.includes(`"eventType":"${type}"`));
  }

  const rowsIn = (text: string): string[] =>
    text
      .split('\n')
      .slice(1, -2)
      .map((row) => row.replace(/,$/, ''));

  it('holds every row once, in the order of the log, in both formats', async () => {
    const expected = await rows();
    let asked = 0;
    const part = (input: ExportPartInput) => {
      asked += 1;
      return inPlace(input);
    };
    const json = await built(part, { format: 'json' });
    expect(asked).toBeGreaterThan(1);
    expect(rowsIn(json.text)).toEqual(expected);
    expect(json.output.rowCount).toBe(expected.length);
    expect(JSON.parse(json.text).manifest.rowCount).toBe(expected.length);
    const { names, numeric } = columnsOf('audit_events');
    const cells = (row: string): Json[] => {
      const value = readJson(row) as JsonObject;
      return names.map((name) => value[name] ?? null);
    };
    const csv = await built(part, { format: 'csv' });
    expect(csv.text).toBe(csvHeader(names) + expected.map((row) => csvRow(cells(row), numeric)).join(''));
  });

  it('has the rows of a filter alone, also where the first parts have none', async () => {
    const only = await built(inPlace, { format: 'json', filters: JSON.stringify({ eventType }) });
    expect(rowsIn(only.text)).toEqual(await rows(eventType));
    const none = await built(inPlace, { format: 'json', filters: '{"eventType":"nobody.did"}' });
    expect(JSON.parse(none.text)).toMatchObject({ data: [], manifest: { rowCount: 0, firstSequence: null } });
  });

  it('is the same however late parts come', async () => {
    const { text } = await built(inPlace, { format: 'json' });
    const waiting: (() => void)[] = [];
    const late = async (part: ExportPartInput): Promise<ExportPart> => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        // the newest first
        setTimeout(() => waiting.pop()?.(), 50 * (3 - (waiting.length % 3)));
      });
      return inPlace(part);
    };
    expect((await built(late, { format: 'json' })).text).toBe(text);
  });

  it('fails as the first part that fails, though a later one failed before', async () => {
    const asked: number[] = [];
    const part = async ({ from }: ExportPartInput): Promise<ExportPart> => {
      asked.push(from);
      if (asked.length === 1) await new Promise((resolve) => setTimeout(resolve, 100));
      throw new GovError('STORAGE_FAULT', `leaf ${from}`);
    };
    await expect(built(part, { format: 'json' })).rejects.toThrow('leaf 0');
    expect(asked.length).toBeGreaterThan(1);
  });

  it('is what the threads of the service build', async () => {
    for (const format of ['json', 'csv'] as const) {
      const { body } = await tenant.call('POST', '/exports', { body: { resource: 'audit_events', format } });
      const made = await exportEnd(tenant.call, body.exportId);
      const { bytes } = await tenant.call('GET', `/exports/${body.exportId}/download`);
      const { treeSize } = made.manifest;
      const { root } = { ...input };
      const createdMs = Date.parse(made.createdAt);
      const { text } = await built(inPlace, { format, treeSize, createdMs, root });
      const manifest = format === 'json' ? -2 : undefined;
      const lines = (all: string): string[] => all.split('\n').slice(0, manifest);
      expect(lines(bytes.toString('utf8'))).toEqual(lines(text));
    }
  });
});
