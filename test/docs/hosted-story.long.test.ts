/**
 * docs/tutorials/two-organizations.md, followed line by line: two processes on a real PostgreSQL, two organizations that sign up at a real
 * OpenID provider, recorded runs, a quota, keys that end, kill -9 under load. GOV_STORY=all takes every run.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocks, filesIn, page } from './pages.ts';
import { Story } from './hosted-story.ts';
import { startProvider, type TestProvider } from '../support/oidc.ts';
import { event, send } from '../support/serving.ts';
import type { Answer } from '../support/answer.ts';
import { data, hasData } from '../paths.ts';
import { missing, server } from '../store/postgres/support/described.ts';

const text = page('docs/tutorials/two-organizations.md');
const takesAll = process.env['GOV_STORY'] === 'all';
/** Lines of the blocks below a heading. */
const linesOf = (heading: string): string => blocks(text, 'sh', heading).join('');
const fewRuns = 12;
const loadEvents = 8000;
const writers = 8;
const slow = { timeout: takesAll ? 600_000 : 120_000 };

describe.skipIf(missing !== null || !hasData)(`${text.name} (skipped without the recorded runs)`, () => {
  const database = `gov_story_${process.pid}`;
  let provider: TestProvider;
  let story: Story;
  /** Events of the recorded runs. */
  let recorded = 0;

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
  const keys = { acme: '', globex: '' };
  const baseUrl = (): string => story.services[0]?.baseUrl ?? '';
  /** From the first process, with the key of one of the two. */
  const get = async (path: string, of: keyof typeof keys): Promise<Answer['body']> =>
    (await send('GET', `${baseUrl()}${path}`, { key: keys[of] })).body;
  const used = async (of: keyof typeof keys): Promise<number> =>
    (await get('/metering/usage', of)).items[0].used;

  beforeAll(async () => {
    provider = await startProvider();
    await asked(`CREATE DATABASE ${database} OWNER gov_test_owner TEMPLATE template0`);
    story = new Story(provider, { PGPASSWORD: 'test' });
    const { fill, folder } = story;
    fill.set('postgres://gov_owner@127.0.0.1/gov', at('gov_test_owner'));
    fill.set('postgres://gov_serving@127.0.0.1/gov', at('gov_test_serving'));
    fill.set('--role gov_serving', '--role gov_test_serving');
    fill.set('https://accounts.example.com', provider.issuer);
    fill.set('--client-id gov', `--client-id ${provider.clientId}`);
    const runs = JSON.parse(readFileSync(data('tau-bench/gpt-4o-airline.json'), 'utf8')) as unknown[];
    const write = (name: string, content: string): void => writeFileSync(join(folder, name), content);
    write('gpt-4o-airline.json', JSON.stringify(takesAll ? runs : runs.slice(0, fewRuns)));
    const ndjson = (count: number, runId: string): string =>
      Array.from({ length: count }, (_, number) =>
        JSON.stringify(event({ runId, metadata: { number } })),
      ).join('\n');
    write('more.ndjson', ndjson(3, 'more'));
    write('load.ndjson', ndjson(loadEvents, 'load'));
    for (const { name, content } of filesIn(text)) write(name, content);
  });
  afterAll(async () => {
    await story.end();
    await provider.close();
    await asked(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  });

  it('the hosted story starts two processes on one database', slow, async () => {
    await story.follow(linesOf('Two processes on one database'));
    expect(story.services).toHaveLength(2);
  });

  it('the hosted story signs up two organizations, each at one of two processes', slow, async () => {
    const [ada = '', grace = '', ...after] = linesOf('Two organizations').split('\n');
    // a tool that waits for a sign-in asks every five seconds
    await Promise.all([story.line(ada), story.line(grace)]);
    const [status, projects] = (await story.follow(after.join('\n'))).map(({ stdout }) => stdout);
    expect(status).toMatch(/organizationName\tAcme/);
    expect(projects).toMatch(/\tProduction\tproduction/);
    for (const name of ['acme', 'globex'] as const) {
      keys[name] = (await story.line(`gov auth token -C ${name}`)).stdout.trim();
    }
  });

  it('two organizations record the same runs through both processes', slow, async () => {
    await story.follow(linesOf('What their agents did'));
    recorded = await used('acme');
    expect(await used('globex')).toBe(recorded);
    if (takesAll) expect(recorded).toBe(8162);
    const { data: runs } = await get('/runs?limit=200', 'acme');
    const recordings = runs.filter(({ runId }: { runId: string }) => runId !== 'gov.system');
    expect(recordings.length).toBe(takesAll ? 200 : fewRuns);
    story.fill.set('RUN', recordings[0].runId);
  });

  it(
    'an organization decides and proves a run, others verify the proof, and no other tenant sees it',
    slow,
    async () => {
      const results = await story.follow(linesOf('Decide, prove, check'));
      const [, denied, , , , , , refused] = results;
      expect(denied?.stdout).toMatch(/^basic-economy\t1\tdeny\t/);
      expect(refused?.stdout).toMatch(/\tnot verified\t|\tfailed\t/);
    },
  );

  it('a service refuses events that exceed a quota', slow, async () => {
    story.fill.set('prj_…', (await get('/auth/identity', 'acme')).projectId);
    story.fill.set('8164', String(recorded + 2));
    const results = await story.follow(linesOf('A quota'));
    expect(results[3]?.stderr).toContain(`${recorded} of ${recorded + 2} are used, got 3`);
    expect(await used('acme')).toBe(recorded + 3);
    expect(await used('globex')).toBe(recorded);
  });

  it('a revoked key stops working, also at the other process', slow, async () => {
    await story.follow(linesOf('Keys that end'));
  });

  it('a process killed under load loses no event and repeats none', slow, async () => {
    const [push = '', kill = '', ...after] = linesOf('A process dies').trimEnd().split('\n');
    const [, second] = story.services;
    if (second === undefined) throw new Error('expected two processes');
    const count = async (runId: string): Promise<number> =>
      (await get(`/events/count?runId=${runId}`, 'globex')).count;
    const { sent, writing } = writeTo(second.baseUrl, keys.globex);
    const pushing = story.line(push);
    await expect.poll(() => count('load'), { timeout: 20_000 }).toBeGreaterThan(100);
    story.fill.set('PID', String(second.child.pid));
    await story.line(kill);
    await Promise.all([pushing, writing]);
    const [, again, counted] = await story.follow(after.join('\n'));
    expect(again?.stderr).toMatch(
      / events accepted in \d+ runs?, \d+ of them recorded by an earlier request/,
    );
    expect(counted?.stdout).toBe(`count\t${loadEvents}\n`);
    // what was acknowledged is there, and what is sent once more is there once
    const acknowledged = [...sent].filter(([, eventId]) => eventId !== null);
    expect(acknowledged.length).toBeGreaterThan(writers);
    const found = new Map<string, unknown>();
    for (let cursor = ''; ;) {
      const page = await get(`/events?runId=single&limit=1000${cursor}`, 'globex');
      for (const { eventId, metadata } of page.events) found.set(eventId, metadata);
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    for (const [name, eventId] of acknowledged) expect(found.get(eventId ?? '')).toEqual({ name });
    const repeated = writeTo(baseUrl(), keys.globex, [...sent.keys()]);
    await repeated.writing;
    for (const [name, eventId] of acknowledged) expect(repeated.sent.get(name)).toBe(eventId);
    expect(await count('single')).toBe(sent.size);
    expect(await used('globex')).toBe(recorded + loadEvents + sent.size);
  });

  it('every log is whole at the end of the hosted story', slow, async () => {
    const lines = linesOf('Check every log');
    await story.follow(lines.replace('--deep', '--deep -o json > whole.json'));
    const report = JSON.parse(readFileSync(join(story.folder, 'whole.json'), 'utf8'));
    expect(report).toMatchObject({ found: 0, problems: [] });
    expect(report.leaves).toBeGreaterThan(2 * recorded + loadEvents);
  });
});

/**
 * Records events one by one, each under its key: until the process is gone, or those that are named. What each was
 * answered; null where no answer came.
 */
function writeTo(
  baseUrl: string,
  key: string,
  names?: readonly string[],
): { readonly sent: ReadonlyMap<string, string | null>; readonly writing: Promise<unknown> } {
  const sent = new Map<string, string | null>();
  const most = names?.length ?? Infinity;
  const write = async (writer: number): Promise<void> => {
    for (let at = writer; at < most; at += writers) {
      const name = names?.[at] ?? `single-${at}`;
      sent.set(name, null);
      const body = event({ runId: 'single', metadata: { name } });
      const headers = { 'idempotency-key': name };
      const answer = await send('POST', `${baseUrl}/events`, { key, body, headers }).catch(() => null);
      if (answer === null) return;
      if (answer.status !== 201) throw new Error(answer.text);
      sent.set(name, answer.body.eventId);
    }
  };
  return { sent, writing: Promise.all(Array.from({ length: writers }, (_, writer) => write(writer))) };
}
