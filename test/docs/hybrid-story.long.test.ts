/**
 * docs/tutorials/planes-that-report.md, followed line by line: a service on a real PostgreSQL, planes that report to it, kill -9 and revocation.
 * A proxy between planes and service keeps every byte, in which nothing stands but counts. GOV_STORY=all takes every run.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { telemetry } from '../../src/contract/telemetry.ts';
import { canonicalize } from '../../src/core/json/canonical.ts';
import { explain, type JsonSchema } from '../../src/service/call/explain.ts';
import { blocks, page } from './pages.ts';
import type { Result } from '../cli/support/tool.ts';
import { Story } from './hosted-story.ts';
import { startProvider, type TestProvider } from '../support/oidc.ts';
import { startRecordingProxy, type RecordingProxy } from '../support/recording-proxy.ts';
import { event, send } from '../support/serving.ts';
import type { Answer } from '../support/answer.ts';
import { data, hasData } from '../paths.ts';
import { missing, server } from '../store/postgres/support/described.ts';

const text = page('docs/tutorials/planes-that-report.md');
const takesAll = process.env['GOV_STORY'] === 'all';
const blocksOf = (heading: string): string[] => blocks(text, 'sh', heading);
const fewRuns = 6;
const slow = { timeout: takesAll ? 600_000 : 120_000 };
const canary = 'Mrs-Canary-Penicillin-4711';

type Ward = 'ward-7' | 'ward-8' | 'ward-9';

describe.skipIf(missing !== null || !hasData)(`${text.name} (skipped without the recorded runs)`, () => {
  const database = `gov_hybrid_${process.pid}`;
  let provider: TestProvider;
  let story: Story;
  /** Between planes and service, and between Ada and it. */
  let wire: RecordingProxy;
  let front: RecordingProxy;
  let key = '';

  const asked = async (statement: string): Promise<void> => {
    const client = new Client({ connectionString: server.url });
    await client.connect();
    await client.query(statement);
    await client.end();
  };
  const at = (user: string): string => {
    const url = new URL(server.url);
    [url.username, url.password, url.pathname] = [user, '', `/${database}`];
    return url.href;
  };
  const linesOf = (heading: string, block = 0): string[] =>
    (blocksOf(heading)[block] ?? '').trimEnd().split('\n');
  /** Line after line, but what is about one ward goes on beside what is about the others; what each said. */
  const follow = (lines: readonly string[]): Promise<Result[]> => {
    const lanes = new Map<string, Promise<Result>>();
    let all: Promise<unknown> = Promise.resolve();
    const results = lines.map((line) => {
      const [, ward] = /(?:ward-|dpl_…)(\d)/.exec(line) ?? [];
      const before = ward === undefined ? Promise.all([all, ...lanes.values()]) : (lanes.get(ward) ?? all);
      const result = before.then(() => story.line(line));
      if (ward !== undefined) lanes.set(ward, result);
      else {
        all = result;
        lanes.clear();
      }
      return result;
    });
    return Promise.all(results);
  };
  /** The service as it serves now is behind both proxies. */
  const served = (): void => {
    const { port } = new URL(story.services.at(-1)?.baseUrl ?? '');
    for (const proxy of [wire, front]) proxy.port = Number(port);
  };
  const get = async (path: string): Promise<Answer['body']> =>
    (await send('GET', `${front.origin}/api/v1${path}`, { key })).body;
  const atPlane = async (ward: Ward, path: string): Promise<Answer['body']> => {
    const { baseUrl } = JSON.parse(readFileSync(join(story.folder, ward, 'run.json'), 'utf8'));
    const local = readFileSync(join(story.folder, ward, 'local.key'), 'utf8').trim();
    return (await send('GET', `${baseUrl}${path}`, { key: local })).body;
  };
  const plane = (ward: Ward): string => story.fill.get(`dpl_…${ward.slice(-1)}`) ?? '';
  /** What the planes counted themselves: their events, and proofs as they were made. */
  const counted = async (proofs: Partial<Record<Ward, number>>): Promise<Record<string, number>> => {
    const wards = Object.keys(proofs) as Ward[];
    const counts = wards.flatMap((ward) => [
      atPlane(ward, '/events/count').then(({ count }) => count),
      // what the plane notes of itself is not metered
      atPlane(ward, '/events/count?runId=gov.system').then(({ count }) => -count),
    ]);
    const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
    return {
      audit_event: sum(await Promise.all(counts)),
      compliance_proof: sum(Object.values(proofs)),
      risk_decision: 0,
      replay_verification: 0,
    };
  };
  const billed = async (member: 'used' | 'hybrid'): Promise<Record<string, number>> => {
    const { items } = await get('/metering/usage');
    return Object.fromEntries(items.map((item: never) => [item['type'], item[member]]));
  };
  /** Reports follow the newest checkpoint, which may be a second behind. */
  const settle = async (wards: readonly Ward[], expected: Record<string, number>): Promise<void> => {
    for (let look = 0; look < 10; look++) {
      const bill = await billed('hybrid');
      if (canonicalize(bill) === canonicalize(expected)) break;
      await follow(wards.map((ward) => `gov plane telemetry send -C ${ward}`));
    }
    expect(await billed('hybrid')).toEqual(expected);
    expect(await billed('used')).toEqual(expected);
  };

  beforeAll(async () => {
    [provider, wire, front] = await Promise.all([
      startProvider(),
      startRecordingProxy(),
      startRecordingProxy(),
    ]);
    await asked(`CREATE DATABASE ${database} OWNER gov_test_owner TEMPLATE template0`);
    story = new Story(provider, { PGPASSWORD: 'test' });
    const { fill, folder } = story;
    fill.set('postgres://gov_owner@127.0.0.1/gov', at('gov_test_owner'));
    fill.set('postgres://gov_serving@127.0.0.1/gov', at('gov_test_serving'));
    fill.set('--role gov_serving', '--role gov_test_serving');
    fill.set('https://accounts.example.com', provider.issuer);
    fill.set('--client-id gov', `--client-id ${provider.clientId}`);
    fill.set('--service http://127.0.0.1:7470', `--service ${wire.origin}`);
    fill.set('http://127.0.0.1:7470', front.origin);
    for (const port of ['7461', '7462', '7463']) fill.set(`127.0.0.1:${port}`, '127.0.0.1:0');
    const runs = JSON.parse(readFileSync(data('tau-bench/gpt-4o-airline.json'), 'utf8')) as unknown[];
    const write = (name: string, content: string): void => writeFileSync(join(folder, name), content);
    write('gpt-4o-airline.json', JSON.stringify(takesAll ? runs : runs.slice(0, fewRuns)));
    const ndjson = (count: number, runId: string): string =>
      Array.from({ length: count }, (_, number) =>
        JSON.stringify(event({ runId, actor: canary, metadata: { number, note: canary } })),
      ).join('\n');
    write('more.ndjson', ndjson(7, 'more'));
    write('late.ndjson', ndjson(3, 'late'));
  });
  afterAll(async () => {
    await story.end();
    await Promise.all([provider.close(), wire.close(), front.close()]);
    await asked(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  });

  it(
    'the hybrid story starts a service and an organization, and makes planes without the service',
    slow,
    async () => {
      await follow(linesOf('A service'));
      served();
      await Promise.all([
        follow(linesOf('An organization and its planes')),
        follow(linesOf('Two planes')), // needs nobody
      ]);
      expect(wire.sent()).toHaveLength(0);
      key = (await story.line('gov auth token -C acme')).stdout.trim();
      const [, , again] = await follow(linesOf('Two planes', 1));
      expect(again?.stderr).toContain('expected a plane that is not enrolled');
      const { data: planes } = await get('/telemetry/planes');
      for (const { name, dataPlaneId, status } of planes) {
        expect(status).toBe('active');
        story.fill.set(`dpl_…${name.slice(-1)}`, dataPlaneId);
      }
    },
  );

  it('the service bills exactly what both planes recorded and proved', slow, async () => {
    const lines = linesOf('What their agents did');
    await follow(lines.slice(0, 2));
    const { data: runs } = await atPlane('ward-7', '/runs?limit=200');
    const recordings = runs.filter(({ runId }: { runId: string }) => runId !== 'gov.system');
    expect(recordings).toHaveLength(takesAll ? 200 : fewRuns);
    story.fill.set('RUN', recordings[0].runId);
    await follow(lines.slice(2));
    await follow(linesOf('What their agents did', 1));
    await settle(['ward-7', 'ward-8'], await counted({ 'ward-7': 1, 'ward-8': 1 }));
    for (const ward of ['ward-7', 'ward-8'] as const) {
      const { data: reports } = await get(`/telemetry/planes/${plane(ward)}/reports`);
      // the first of an epoch is always asked about
      expect(reports.at(-1).attestation).toBe('verified');
    }
  });

  it('planes keep working when the service dies, and report the outage', slow, async () => {
    story.fill.set('PID', String(story.services[0]?.child.pid));
    const [, , , , verified, , , pending, status] = await follow(linesOf('The service dies'));
    expect(verified?.stdout).toMatch(/\tverified\t|\tpassed\t|^verified/m);
    expect(pending?.stdout).toContain('"schemaVersion":"gov.usage/1"');
    expect(status?.stdout).toMatch(/^state\tdegraded$/m);
    expect(status?.stdout).toMatch(/control_plane_unreachable: since \d{4}-\d\d-\d\dT/);
  });

  it(
    'planes deliver waiting reports after an outage, and the bill is right to the last unit',
    slow,
    async () => {
      const [serve = '', ...after] = linesOf('And comes back');
      await story.line(serve);
      served();
      await follow(after);
      await settle(['ward-7', 'ward-8'], await counted({ 'ward-7': 2, 'ward-8': 1 }));
      for (const ward of ['ward-7', 'ward-8'] as const) {
        const { data: reports } = await get(`/telemetry/planes/${plane(ward)}/reports`);
        const sequences = reports.map(({ sequence }: { sequence: number }) => sequence);
        expect(sequences).toEqual(sequences.map((_: number, at: number) => sequences.length - at));
      }
    },
  );

  it('the service takes reports, answers and receipts of a plane by file', slow, async () => {
    const lines = linesOf('A plane without a network');
    const before = wire.sent().length;
    const [created] = await story.follow(lines.slice(0, 1).join('\n'));
    story.fill.set('dpl_…9', /dpl_[0-9a-z]{26}/.exec(created?.stdout ?? '')?.[0] ?? '');
    await story.follow(lines.slice(1).join('\n'));
    const expected = await counted({ 'ward-7': 2, 'ward-8': 1, 'ward-9': 1 });
    expect(await billed('hybrid')).toEqual(expected);
    const { data: reports } = await get(`/telemetry/planes/${plane('ward-9')}/reports`);
    expect(reports.at(-1).attestation).toBe('verified');
    // it never sent anything
    const sentAfter = wire.sent().subarray(before).toString('latin1');
    expect(sentAfter).not.toContain(plane('ward-9'));
  });

  it('the service takes nothing from a revoked plane, and the plane continues to record', slow, async () => {
    const before = await billed('used');
    const [, , , refused, status] = await follow(linesOf('A plane is revoked'));
    expect(refused?.stderr).toContain('credential_refused');
    expect(status?.stdout).toMatch(/credential_refused/);
    expect((await atPlane('ward-8', '/events/count?runId=late')).count).toBe(3);
    expect(await billed('used')).toEqual(before);
  });

  it('planes send only what the published schema has', slow, () => {
    const requests = wire.requests();
    const bodies = (path: RegExp) => requests.filter(({ path: at }) => path.test(at)).map(({ body }) => body);
    const said = new Set(
      requests.map(({ method, path }) => `${method} ${path.replace(/chl_\w+|\?.*/, '…')}`),
    );
    said.delete('GET /api/v1/telemetry/config…'); // once in five minutes
    expect([...said].toSorted()).toEqual([
      'GET /api/v1/telemetry/reports/newest', // no body: what the service holds of this plane
      'POST /api/v1/telemetry/attestations/…',
      'POST /api/v1/telemetry/planes/enroll',
      'POST /api/v1/telemetry/usage',
    ]);
    const rows = { reportUsage: /\/usage$/, attestUsage: /\/chl_/, enrollDataPlane: /\/enroll$/ } as const;
    for (const [row, path] of Object.entries(rows) as [keyof typeof rows, RegExp][]) {
      const schema = telemetry[row].body as unknown as JsonSchema;
      for (const body of bodies(path)) {
        const { errors } = explain(schema, JSON.parse(body), { in: 'body' });
        expect(errors).toEqual([]);
        expect(canonicalize(JSON.parse(body))).toBe(body);
      }
    }
    expect(bodies(rows.reportUsage).length).toBeGreaterThan(3);
    expect(bodies(rows.attestUsage).length).toBeGreaterThan(1);
    const names = new Set(requests.flatMap(({ headers }) => [...headers.keys()]));
    expect([...names].toSorted()).toEqual([
      'accept',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
      'x-telemetry-signature',
      'x-telemetry-timestamp',
    ]);
  });

  it('planes send no content, run id, event type or name to the service', slow, async () => {
    const { data: runs } = await atPlane('ward-7', '/runs?limit=200');
    const { events } = await atPlane('ward-7', `/events?runId=${story.filled('RUN')}&limit=1000`);
    const words = new Set<string>([canary, 'ward-7', 'Ada', 'Acme']);
    for (const { runId } of runs) words.add(runId);
    for (const each of events) {
      for (const name of [each.eventId, each.eventType, each.actor, each.action, each.resource])
        if (typeof name === 'string' && name.length > 3) words.add(name);
    }
    expect(words.size).toBeGreaterThan(20);
    const crossed = `${wire.sent().toString('latin1')}${wire.answered().toString('latin1')}`;
    expect(crossed).toContain('audit_event');
    const spelled = (word: string): string[] => {
      const bytes = Buffer.from(word);
      // base64 of a text depends on where it begins
      const within = [0, 1, 2].map((skip) =>
        Buffer.concat([Buffer.alloc(skip), bytes])
          .toString('base64')
          .slice(4, -4),
      );
      return [word, bytes.toString('hex'), ...within.filter((part) => part.length > 8)];
    };
    const found = [...words].filter((word) => spelled(word).some((part) => crossed.includes(part)));
    expect(found).toEqual([]);
  });

  it('every log is whole at the end of the hybrid story', slow, async () => {
    await Promise.all((blocksOf('Check every log')[0] ?? '').trim().split('\n').map(story.line.bind(story)));
  });
});
