import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, startServer } from '../../client/server.ts';
import type { TestServer } from '../../client/server.ts';
import { limits } from '../../../src/contract/limits.ts';
import { allSpecs } from '../../../src/cli/specs/all.ts';
import { govHere, shell } from '../support/tool.ts';
import type { InProcessOptions } from '../support/tool.ts';

const evil = 'look\u001b[2J up \u202e flights\nnow';
const event = (sequence: number) => ({
  eventId: `evt_01jq3v5k8hf7wb3c9x2m4n6p8${sequence}`,
  runId: 'run-1',
  eventType: 'tool.call',
  actor: { name: 'planner', role: 'agent' },
  resource: null,
  action: evil,
  timestamp: '2026-03-01T11:58:00Z',
  serverTimestamp: '2026-03-01T11:58:01.000Z',
  metadata: { deep: { list: [1, 'two', true] }, empty: {} },
  causedBy: null,
  aiSystemId: null,
  clientEventId: null,
  sequence,
  leafHash: `sha256:${'ab'.repeat(32)}`,
});

const refusal = {
  title: 'The request does not match the interface',
  status: 400,
  code: 'VALIDATION_ERROR',
  detail: 'body /runId: expected text',
  errors: [
    { in: 'body', pointer: '/runId', code: 'type', detail: 'expected text' },
    { in: 'body', pointer: '/async', code: 'type', detail: 'expected true or false' },
  ],
};

const asked: string[] = [];
let server: TestServer;
/** Three rows of any list, at most two a page. */
let pages: TestServer;
let env: Record<string, string>;
let paged: Record<string, string>;
beforeAll(async () => {
  server = await startServer((seen, response) => {
    const url = new URL(seen.url, 'http://x');
    asked.push(url.search);
    const from = Number(url.searchParams.get('cursor') ?? '0');
    const size = Math.min(2, Number(url.searchParams.get('limit') ?? '2'));
    const events = [0, 1, 2, 3, 4].slice(from, from + size).map(event);
    const nextCursor = from + size < 5 ? String(from + size) : null;
    const runId = url.searchParams.get('runId') ?? '';
    const bulk = Number(/^bulk-(\d+)$/.exec(runId)?.[1]);
    if (runId === 'endless') json(response, 200, { events: [event(1)], nextCursor: String(from + 1) });
    else if (bulk > 0) {
      const to = Math.min(bulk, from + 20_000);
      const page = Array.from({ length: to - from }, () => ({ sequence: 1 }));
      json(response, 200, { events: page, nextCursor: to < bulk ? String(to) : null });
    } else if (runId === 'empty') json(response, 200, { events: [], nextCursor: null });
    else if (url.pathname.endsWith('/events')) json(response, 200, { events, nextCursor });
    else if (url.pathname.endsWith('/approvals'))
      json(response, 200, { data: [], nextCursor: null, altered: ['apr_1', 'apr_2'] });
    else if (url.pathname.endsWith('/runs')) json(response, 200, { data: [], nextCursor: null });
    else if (url.pathname.endsWith('/proofs')) json(response, 400, refusal);
    else json(response, 200, event(3));
  });
  env = { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: 'gov_live_x' };
  pages = await startServer((seen, response) => {
    const query = new URL(seen.url, 'http://x').searchParams;
    const from = Number(query.get('cursor') ?? '0');
    const to = Math.min(3, from + Math.min(2, Number(query.get('limit') ?? '2')));
    const rows = [0, 1, 2].slice(from, to).map((at) => ({ at }));
    json(response, 200, { data: rows, events: rows, nextCursor: to < 3 ? String(to) : null });
  });
  paged = { ...env, GOV_BASE_URL: pages.baseUrl };
});
afterAll(() => Promise.all([server.close(), pages.close()]));

const list = (flags: string, options: InProcessOptions = {}) =>
  govHere(['events', 'list', ...flags.split(' ')], { ...options, env: { ...env, ...options.env } });
const lines = (text: string): string[] => text.split('\n').slice(0, -1);
const connections = (): Promise<number> => promisify(server.server.getConnections.bind(server.server))();

describe('a list', () => {
  it('a list says on stderr which rows the service does not show because they were altered', async () => {
    for (const format of ['table', 'json', 'ndjson']) {
      const { stderr, code } = await govHere(['approvals', 'list', '-o', format], { env });
      expect([code, stderr]).toEqual([
        0,
        expect.stringContaining('differs from the log: apr_1, apr_2; run gov log fsck --deep'),
      ]);
    }
  });

  it('a list in a pipe is tab-separated, without a header and with full values', async () => {
    const { stdout, stderr, code } = await list('--run r');
    expect(code).toBe(0);
    expect(lines(stdout)).toHaveLength(5);
    expect(lines(stdout)[0]?.split('\t')).toEqual([
      '0',
      '2026-03-01T11:58:00Z',
      'tool.call',
      '{"name":"planner","role":"agent"}',
      '',
      'look\\u001b[2J up \\u202e flights\\nnow',
      'evt_01jq3v5k8hf7wb3c9x2m4n6p80',
    ]);
    expect(stderr).toBe('');
  });

  it('a list in a pipe has every row, in each format, and on a terminal one page that says how to get the rest', async () => {
    const cut = 'cut: 2 rows shown, there are more: --all, or --cursor 2\n';
    for (const format of ['json', 'yaml', 'ndjson', 'csv', 'id', 'table', 'wide']) {
      // one value has the list by two names
      const times = ['json', 'yaml'].includes(format) ? 2 : 1;
      const piped = await list(`--run r -o ${format}`);
      expect([piped.stdout.match(/evt_/g)?.length, piped.stderr]).toEqual([5 * times, '']);
      const shown = await list(`--run r -o ${format}`, { columns: 200 });
      expect([shown.stdout.match(/evt_/g)?.length, shown.stderr]).toEqual([2 * times, cut]);
    }
    const limited = await list('--run r --limit 1');
    expect([lines(limited.stdout).length, limited.stderr]).toEqual([
      1,
      'cut: 1 row shown, there are more: --all, or --cursor 1\n',
    ]);
    expect((await list('--run r -q', { columns: 200 })).stderr).toBe('');
  });

  it.each(
    allSpecs()
      .filter(({ flags }) => flags?.['cursor'] !== undefined)
      .map(({ name, args = [] }) => [name, args.length] as const),
  )('gov %s gives a pipe every row, and says on a terminal how to get the rest', async (name, args) => {
    expect(args).toBeLessThan(2);
    const words = [...name.split(' '), ...(args === 1 ? ['paged'] : []), '-o', 'ndjson'];
    const more = name === 'events list' ? ['--run', 'paged'] : [];
    const rows = async (flags: readonly string[], options: InProcessOptions = {}) => {
      const { stdout, stderr, code } = await govHere([...words, ...more, ...flags], {
        env: paged,
        ...options,
      });
      return [code, lines(stdout).length, stderr];
    };
    expect(await rows([])).toEqual([0, 3, '']);
    expect(await rows(['--all'], { columns: 200 })).toEqual([0, 3, '']);
    const cut = 'cut: 2 rows shown, there are more: --all, or --cursor 2\n';
    expect(await rows([], { columns: 200 })).toEqual([0, 2, cut]);
    const one = 'cut: 1 row shown, there are more: --all, or --cursor 1\n';
    expect(await rows(['--limit', '1'])).toEqual([0, 1, one]);
  });

  it('a reader that closes the pipe ends the paging', async () => {
    asked.length = 0;
    const before = await connections();
    const { stdout, code } = await shell('gov events list --run endless | head -n 1; exit ${PIPESTATUS[0]}', {
      env,
    });
    expect([lines(stdout).length, code]).toEqual([1, 0]);
    const seen = asked.length;
    expect(seen).toBeLessThan(200);
    // all that it sent before it ended has arrived
    await expect.poll(connections).toBeLessThanOrEqual(before);
    expect(asked.length).toBe(seen);
  });

  it('a list as one value ends at its limit of rows, and says how to get the rest', async () => {
    const listed = async (extra: number) => {
      const lists = `bulk-${limits.wholeListItems + extra}`;
      const { stdout, stderr } = await list(`--run ${lists} -o json`);
      const { events, nextCursor } = JSON.parse(stdout) as { events: unknown[]; nextCursor: string | null };
      return [events.length, nextCursor, stderr];
    };
    const most = limits.wholeListItems;
    expect(await listed(0)).toEqual([most, null, '']);
    const cut = `cut: 100,000 rows shown, there are more: -o ndjson, or --cursor ${most}\n`;
    expect(await listed(1)).toEqual([most, String(most), cut]);
  });

  it('a list on a terminal is a table that fits, with relative times', async () => {
    const { stdout } = await list('--run r --color never', { columns: 100 });
    expect(lines(stdout)[0]).toMatch(/^SEQUENCE {2}TIMESTAMP {2}EVENT TYPE {2}ACTOR {4}RESOURCE {2}ACTION/);
    expect(stdout).toContain('2 min ago');
    for (const line of lines(stdout)) expect(line.length).toBeLessThanOrEqual(100);
    expect(stdout).not.toContain('\u001b');
  });

  it('a list on a terminal has a coloured header and no control characters', async () => {
    const { stdout } = await list('--run r', { columns: 200 });
    expect(stdout.startsWith('\u001b[1m')).toBe(true);
    expect(stdout.split('\u001b').length - 1).toBe(2);
    expect(stdout).not.toContain('\u202e');
  });

  it('a list as JSON is one value with the names of the interface, also when it is empty', async () => {
    const { stdout, stderr } = await list('--run r -o json --limit 2');
    expect(JSON.parse(stdout)).toEqual({
      events: [event(0), event(1)],
      data: [event(0), event(1)],
      nextCursor: '2',
    });
    expect(stderr).toContain('--cursor 2');
    const empty = await list('--run empty -o json');
    expect(JSON.parse(empty.stdout)).toEqual({ events: [], data: [], nextCursor: null });
    const runs = await govHere(['runs', 'list', '-o', 'json'], { env });
    expect(JSON.parse(runs.stdout)).toEqual({ data: [], nextCursor: null });
  });

  it('a list takes all pages, or as many items as requested', async () => {
    const all = JSON.parse((await list('--run r --all -o json')).stdout);
    expect(all).toMatchObject({ nextCursor: null, events: { length: 5 } });
    const three = JSON.parse((await list('--run r --limit 3 -o json')).stdout);
    expect(three.events.map((each: { sequence: number }) => each.sequence)).toEqual([0, 1, 2]);
    expect(three.nextCursor).toBe('3');
    expect(lines((await list('--run r --cursor 4 -o id')).stdout)).toEqual([event(4).eventId]);
  });

  it('a list as NDJSON has one escaped JSON value per line', async () => {
    const { stdout } = await list('--run r --all -o ndjson');
    expect(lines(stdout).map((line) => JSON.parse(line))).toEqual([0, 1, 2, 3, 4].map(event));
    expect(stdout).toMatch(/^[\u0020-\u007e\n]*$/);
  });

  it('a list has every column as CSV and wide', async () => {
    const csv = lines((await list('--run r -o csv')).stdout);
    expect(csv[0]).toBe([...Object.keys(event(0)), 'erased'].join(','));
    expect(csv).toHaveLength(6);
    const wide = lines((await list('--run r -o wide')).stdout);
    expect(wide[0]).toContain('LEAF HASH');
    expect(wide[1]).toContain('ab'.repeat(32));
  });

  it('an empty list says on standard error that nothing was found', async () => {
    expect(await list('--run empty', { columns: 80 })).toMatchObject({
      stdout: '',
      stderr: 'nothing found\n',
    });
    expect(await list('--run empty -q', { columns: 80 })).toMatchObject({ stdout: '', stderr: '' });
  });
});

describe('one resource', () => {
  it('one resource on a terminal shows names and values, with nested values below', async () => {
    const { stdout } = await govHere(['events', 'get', 'evt_1', '--color', 'never'], { env, columns: 80 });
    expect(stdout).toContain('eventType        tool.call\n');
    expect(stdout).toContain('actor          \n  name: planner\n  role: agent\n');
    expect(stdout).toContain('    list:\n      - 1\n      - two\n      - true\n');
    expect(stdout).toContain('resource         -\n');
    expect(stdout).not.toContain('\u001b');
  });

  it('one resource in a pipe shows name, tab and value', async () => {
    const { stdout } = await govHere(['events', 'get', 'evt_1'], { env });
    expect(lines(stdout)).toContain('runId\trun-1');
    expect(lines(stdout)).toHaveLength(Object.keys(event(0)).length);
  });

  it('one resource as YAML reads back, with double quotes when needed', async () => {
    const { stdout } = await govHere(['events', 'get', 'evt_1', '-o', 'yaml'], { env });
    expect(stdout).toContain('eventType: tool.call\n');
    expect(stdout).toContain('action: "look\\u001b[2J up \\u202e flights\\nnow"\n');
    expect(stdout).toContain('  empty: {}\n');
    expect(stdout).toContain('causedBy: null\n');
  });

  it('one resource with -o id prints its identifier', async () => {
    expect((await govHere(['events', 'get', 'evt_1', '-o', 'id'], { env })).stdout).toBe(
      `${event(3).eventId}\n`,
    );
  });
});

describe('a refusal', () => {
  it('a refused request shows each error once', async () => {
    const { code, stderr } = await govHere(['proofs', 'create', '--run', 'r'], { env });
    expect(code).toBe(2);
    expect(lines(stderr)).toEqual([
      'error: The request does not match the interface: body /runId: expected text',
      '  body /async: expected true or false',
    ]);
  });
});
