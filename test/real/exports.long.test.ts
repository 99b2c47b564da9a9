/**
 * Exports of recorded runs, as their readers get them: all seven resources of imported tau-bench and OpenHands runs, of a
 * plane and of a service on PostgreSQL. Tables are read by strict parsers of others and held against the API; artifacts
 * are verified by the tool in an empty home; a download that is cut again and again ends with the same hash.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportResources, type ExportResource } from '../../src/contract/exports.ts';
import { canonicalize, type Json } from '../../src/core/json/parse.ts';
import { startCuttingProxy } from '../client/exportserver.ts';
import { emptyDirectory, gov, govHere } from '../cli/support/tool.ts';
import { endOf, exportEnd } from '../service/support/filled.ts';
import type { TestPlane } from '../support/serving.ts';
import type { Answer } from '../support/answer.ts';
import { hasData } from '../paths.ts';
import { unmarked } from '../support/unmarked.ts';
import { startWorld, worlds } from '../support/worlds.ts';
import { sources } from './support/sources.ts';

/** A service on SQLite writes and reads as a plane does. */
const tried = worlds.filter((world) => world !== 'sqlite');
const cuts = 10;

const hasPython = ((): boolean => {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Rows as Python's parser reads them where it lets nothing pass. */
const readByPython = (path: string): string[][] =>
  JSON.parse(
    execFileSync('python3', ['-c', python, path], { maxBuffer: 2 ** 30, encoding: 'utf8' }),
  ) as string[][];
const python = `import csv, json, sys
csv.field_size_limit(10**9)
with open(sys.argv[1], newline='', encoding='utf-8') as file:
    json.dump(list(csv.reader(file, strict=True, doublequote=True)), sys.stdout)`;

/** What a cell must hold: our own words are not asked. */
function cellOf(value: Json): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? canonicalize(value) : String(value);
}

type Row = Record<string, Json>;

/** Some members of rows, as texts in order. */
const shown = (rows: readonly Row[], members: readonly string[]): string[] =>
  rows.map((row) => canonicalize(members.map((name) => row[name] ?? null))).toSorted();

describe.skipIf(!hasData).each(tried)(
  'exports of recorded runs from a %s (skipped without them)',
  (world) => {
    const folder = emptyDirectory();
    const runs: string[] = [];
    let imported = 0;
    let plane: TestPlane;
    let env: Record<string, string>;
    let keys: readonly string[];
    const at = (name: string): string => join(folder, name);
    const ok = async (method: string, path: string, body?: unknown): Promise<Answer['body']> => {
      const answer = await plane.call(method, path, body === undefined ? {} : { body });
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
      return answer.body;
    };

    beforeAll(async () => {
      plane = await startWorld(world);
      env = { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key };
      for (const { format, files, events } of [sources.tauBench(), sources.openHands()]) {
        imported += events;
        const argv = ['events', 'push', '--from', format, ...files.map(({ path }) => path), '-o', 'json'];
        const { code, stdout, stderr } = await govHere(argv, { env, cwd: folder, now: Date.now() });
        if (code !== 0) throw new Error(stderr);
        for (const { runId } of JSON.parse(stdout).imports) runs.push(runId);
      }
      const policy = {
        policyId: 'calls',
        name: 'Calls',
        condition: { 'tool.name': 'pay' },
        action: 'warn',
      };
      await ok('POST', '/governance/policies', policy);
      await ok('POST', '/governance/policies/calls/publish', {});
      // of both sources
      for (const runId of [...runs.slice(0, 8), ...runs.slice(-8)]) {
        await ok('POST', `/graphs/${runId}/commit`, {});
        await ok('POST', '/proofs', { runId });
        await ok('POST', '/risk/evaluate', { runId });
        await ok('POST', '/governance/policy/evaluate', {
          runId,
          checkpoint: { context: { tool: { name: 'pay' } } },
        });
        const { jobId } = await ok('POST', '/replay', { runId });
        await endOf(plane.call, jobId);
        const proving = await ok('POST', '/proofs', { runId, async: true });
        await endOf(plane.call, proving.jobId);
      }
      const text = (await plane.call('GET', '/log/key')).text.trim();
      keys = text.split('\n').flatMap((key) => ['--key', key]);
    }, 300_000);
    afterAll(async () => {
      await plane.end();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Rows of all pages of a list. */
    async function listed(path: string, member: string): Promise<Row[]> {
      const rows: Row[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const body = await ok('GET', `${path}${path.includes('?') ? '&' : '?'}limit=100${query}`);
        rows.push(...body[member]);
        cursor = body.nextCursor;
      }
      return rows;
    }

    /** What the API answers of a resource, each row by its id. */
    async function answered(resource: Exclude<ExportResource, 'causal_graphs'>): Promise<Map<Json, Row>> {
      const by = (rows: readonly Row[], id: string): Map<Json, Row> =>
        new Map(rows.map((row) => [row[id] ?? null, row]));
      switch (resource) {
        case 'audit_events': {
          const rows: Row[] = [];
          for (const { runId } of (await listed('/runs', 'data')) as { runId: string }[])
            rows.push(...(await listed(`/events?runId=${encodeURIComponent(runId)}`, 'events')));
          return by(rows, 'eventId');
        }
        case 'compliance_proofs':
          return by(await listed('/proofs', 'data'), 'proofId');
        case 'risk_decisions':
          return by(await listed('/risk/decisions', 'data'), 'id');
        case 'policy_evaluations':
          return by(await listed('/governance/policy/evaluations', 'data'), 'id');
        case 'jobs':
          return by(await listed('/jobs', 'data'), 'jobId');
        case 'replays': {
          const found = await listed('/replay', 'data');
          const all = await Promise.all(
            found.map(({ replayId }) => ok('GET', `/replay/${String(replayId)}`)),
          );
          return by(all, 'replayId');
        }
      }
    }
    const idOf = {
      audit_events: 'eventId',
      compliance_proofs: 'proofId',
      risk_decisions: 'id',
      policy_evaluations: 'id',
      jobs: 'jobId',
      replays: 'replayId',
    } as const;

    const exported = async (argv: readonly string[]): Promise<Answer['body']> => {
      const done = await govHere(['export', 'run', ...argv, '-o', 'json'], {
        env,
        cwd: folder,
        now: Date.now(),
      });
      expect(done, argv.join(' ')).toMatchObject({ code: 0 });
      return JSON.parse(done.stdout);
    };

    const tables = exportResources.filter((resource) => resource !== 'causal_graphs');
    it.each(tables)(
      '%s: two strict parsers read the table alike, and its values equal those of the API',
      async (resource) => {
        const path = at(`${resource}.csv`);
        await exported(['--resource', resource, '--format', 'csv', '-O', path]);
        const rows = parse(readFileSync(path), {
          record_delimiter: '\r\n',
          relax_column_count: false,
        }) as string[][];
        if (hasPython) expect(readByPython(path)).toEqual(rows);
        const [names = [], ...lines] = rows;
        const wanted = await answered(resource);
        const idAt = names.indexOf(idOf[resource]);
        expect(lines.length).toBeGreaterThanOrEqual(resource === 'audit_events' ? imported : 16);
        for (const line of lines) {
          const row = wanted.get(line[idAt] ?? '');
          if (row === undefined) throw new Error(`expected ${line[idAt]} among what the API answers`);
          wanted.delete(line[idAt] ?? '');
          expect(Object.keys(row).filter((name) => !names.includes(name))).toEqual([]);
          names.forEach((name, column) => {
            const cell = line[column] ?? '';
            const text = cellOf(row[name] ?? null);
            if (typeof row[name] === 'number' ? cell !== text : unmarked(cell) !== text)
              throw new Error(`${line[idAt]} ${name}: expected ${text}, got ${cell}`);
          });
        }
        // what an export is told by was recorded after it was asked for
        const later = [...wanted.values()].filter(({ runId }) => runId !== 'gov.system');
        expect(later).toEqual([]);
      },
    );

    it.each(exportResources)(
      '%s: the JSON artifact contains what the API returns and verifies itself',
      async (resource) => {
        const path = at(`${resource}.json`);
        const isProved = resource !== 'jobs';
        await exported(['--resource', resource, ...(isProved ? ['--proof'] : []), '-O', path]);
        const { data, manifest } = JSON.parse(readFileSync(path, 'utf8'));
        expect(data).toHaveLength(manifest.rowCount);
        const rows = data.map((row: Row) =>
          Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'evidence')),
        );
        if (resource === 'causal_graphs') {
          expect(rows.length).toBeGreaterThanOrEqual(16);
          for (const row of rows) {
            const { nodes, edges, rootHash } = await ok('GET', `/graphs/${row.runId}`);
            expect(row.rootHash).toBe(rootHash);
            expect(shown(row.nodes, ['id', 'type'])).toEqual(shown(nodes, ['id', 'type']));
            const ends = ['source', 'target', 'type'];
            expect(shown(row.edges, ends)).toEqual(shown(edges, ends));
          }
        } else {
          const wanted = await answered(resource);
          for (const row of rows) expect(row).toEqual(wanted.get(row[idOf[resource]]));
        }
        if (!isProved) return;
        const home = emptyDirectory();
        const nothing = { HOME: home, GOV_CONFIG_DIR: join(home, 'none'), http_proxy: 'http://127.0.0.1:1' };
        const verified = await gov(['proofs', 'verify', path, ...keys, '-o', 'json'], {
          env: nothing,
          cwd: home,
        });
        expect(verified).toMatchObject({ code: 0 });
        expect(JSON.parse(verified.stdout)).toMatchObject({ verified: true, resource });
        const changed = readFileSync(path, 'utf8').replace(/"runId":"/, '$&x');
        const refused = await govHere(['proofs', 'verify', '-', ...keys], { input: changed, cwd: home });
        expect(refused.code).toBe(3);
      },
    );

    it('a download by the tool that is interrupted ten times ends with the same hash', async () => {
      const created = await ok('POST', '/exports', {
        resource: 'audit_events',
        format: 'json',
        includeProof: true,
      });
      const { sizeBytes, sha256 } = await exportEnd(plane.call, created.exportId);
      const after = Math.floor(sizeBytes / (cuts + 2));
      const proxy = await startCuttingProxy(plane.port, { after, times: cuts });
      const path = at('cut.json');
      const through = { ...env, GOV_BASE_URL: proxy.baseUrl };
      const told = await gov(['export', 'download', created.exportId, '-O', path, '-o', 'json'], {
        env: through,
      });
      await proxy.close();
      expect([told.code, told.stderr === '' || told.stderr, proxy.cuts]).toEqual([
        0,
        expect.anything(),
        cuts,
      ]);
      const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
      expect(`sha256:${hash}`).toBe(sha256);
    });
  },
);
