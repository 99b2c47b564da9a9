import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, startServer } from '../../../client/server.ts';
import type { TestServer } from '../../../client/server.ts';
import { emptyDirectory, govHere, shell } from '../../support/tool.ts';

const project = 'prj_01jq3v5k8hf7wb3c9x2m4n6p8r';
const folder = emptyDirectory();
let server: TestServer;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer(({ url, method }, response) => {
    if (method !== 'GET') return json(response, method === 'POST' ? 201 : 200, { id: 'no-shell', ok: true });
    if (!url.includes('/runs')) return json(response, 200, { status: 'ok' });
    const isSecond = url.includes('cursor=two');
    const data = isSecond ? [{ runId: 'run-3' }] : [{ runId: 'run-1' }, { runId: 'run-2' }];
    return json(response, 200, { data, nextCursor: isSecond ? null : 'two' });
  });
  env = { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: 'gov_live_secret', GOV_PROJECT: project };
});
afterAll(() => server.close());

const api = (...words: string[]) => govHere(['api', ...words], { env });
const refusal = async (...words: string[]) => {
  const { code, stdout, stderr } = await api(...words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  return stderr;
};

describe('gov api', () => {
  it('gov api calls an operation with the credential and the project of the context', async () => {
    const { code, stdout } = await api('GET', '/runs?limit=2');
    expect({ code, body: JSON.parse(stdout) }).toMatchObject({ code: 0, body: { nextCursor: 'two' } });
    expect(server.seen.at(-1)).toMatchObject({
      url: expect.stringMatching(/\/runs\?limit=2$/),
      headers: { authorization: 'Bearer gov_live_secret', 'gov-project': project },
    });
  });

  it('gov api takes a path alone for GET, also behind flags', async () => {
    const { code, stdout } = await api('/runs?limit=2');
    expect({ code, body: JSON.parse(stdout) }).toMatchObject({ code: 0, body: { nextCursor: 'two' } });
    expect((await govHere(['-q', 'api', '/runs', '--jq', '.nextCursor'], { env })).stdout).toBe('two\n');
    expect(server.seen.at(-1)?.method).toBe('GET');
    expect(await refusal('runs')).toContain("missing required argument 'path'");
  });

  it('gov api reads the file of a field from the folder of the caller', async () => {
    writeFileSync(join(folder, 'name.txt'), 'No shells');
    const words = ['api', 'POST', '/governance/policies', '-F', 'name=@name.txt'];
    expect((await govHere(words, { env, cwd: folder })).code).toBe(0);
    expect(JSON.parse(String(server.seen.at(-1)?.body))).toMatchObject({ name: 'No shells' });
  });

  it('gov api follows every page of a list with --paginate', async () => {
    const all = await api('GET', 'runs', '--paginate');
    expect(JSON.parse(all.stdout)).toEqual({
      data: [{ runId: 'run-1' }, { runId: 'run-2' }, { runId: 'run-3' }],
      nextCursor: null,
    });
    expect((await api('GET', '/runs', '--paginate', '--jq', '.data[].runId')).stdout).toBe(
      'run-1\nrun-2\nrun-3\n',
    );
    expect((await api('GET', '/runs', '--paginate', '-o', 'id')).stdout).toBe('run-1\nrun-2\nrun-3\n');
    expect(await refusal('GET', '/health', '--paginate')).toContain('expected a list, got GET /health');
  });

  it('gov api makes a body of fields, with the types of the interface', async () => {
    writeFileSync(join(folder, 'note.txt'), 'from a file');
    const words = [
      '-F',
      'name=5',
      '-F',
      'condition={"==":[1,1]}',
      '-F',
      `description=@${join(folder, 'note.txt')}`,
    ];
    await api('POST', '/governance/policies', ...words);
    expect(server.seen.at(-1)).toMatchObject({
      method: 'POST',
      headers: { 'idempotency-key': expect.any(String) },
    });
    expect(JSON.parse(server.seen.at(-1)!.body)).toEqual({
      name: '5',
      condition: { '==': [1, 1] },
      description: 'from a file',
    });
  });

  it('gov api makes a query of fields with GET, and reads a whole body from a file or standard input', async () => {
    await api('GET', '/jobs', '-F', 'runId=a b', '-F', 'limit=2');
    expect(server.seen.at(-1)!.url).toMatch(/\/jobs\?runId=a\+b&limit=2$/);
    await govHere(['api', 'POST', '/governance/policies', '--input', '-'], {
      env,
      input: '{"policyId":"no-shell"}',
    });
    expect(JSON.parse(server.seen.at(-1)!.body)).toEqual({ policyId: 'no-shell' });
    expect(await refusal('GET', '/runs', '--input', '-')).toContain('expected a method with a body, got GET');
    expect(await refusal('POST', '/governance/policies', '-F', 'x')).toContain(
      'expected NAME=VALUE, got "x"',
    );
    expect(await refusal('POST', '/governance/policies', '-F', 'a=1', '-F', 'a=2')).toContain(
      'expected each name once',
    );
  });

  it('gov api refuses a path that the interface does not have, and names the nearest ones', async () => {
    const before = server.seen.length;
    expect(await refusal('GET', '/run')).toMatch(
      /expected a path of the interface, got "\/run"\n.*did you mean GET \/runs/,
    );
    expect(await refusal('GET', '/job/job_1')).toContain('GET /jobs/{jobId}');
    expect(await refusal('DELETE', '/runs')).toContain('/runs: expected GET, got "DELETE"');
    expect(await refusal('get', '/runs')).toContain('/runs: expected GET, got "get"');
    expect(await refusal('GET', '/jobs/%')).toContain('valid percent signs');
    expect(await refusal('GET', '/jobs/../runs')).toContain('expected a path of the interface');
    expect(server.seen.length).toBe(before);
  });

  it('gov api prints a curl command that works in a shell and never contains the key', async () => {
    const words = [
      'POST',
      '/governance/policies',
      '-F',
      "policyId=it's",
      '-F',
      'name=a"$HOME`\u202e',
      '--curl',
    ];
    const before = server.seen.length;
    const { stdout } = await api(...words);
    expect(server.seen.length).toBe(before);
    expect(stdout).not.toContain('gov_live_secret');
    expect(stdout).not.toContain('\u202e');
    expect(stdout).toContain('-H "Authorization: Bearer $GOV_API_KEY"');
    const sent = await shell(`set -e; ${stdout.replace('curl', 'curl -s')}`, { env });
    expect(sent).toMatchObject({ code: 0, stdout: '{"id":"no-shell","ok":true}' });
    expect(server.seen.at(-1)!.headers).toMatchObject({
      authorization: 'Bearer gov_live_secret',
      'gov-project': project,
    });
    expect(JSON.parse(server.seen.at(-1)!.body)).toEqual({ policyId: "it's", name: 'a"$HOME`\u202e' });
  });
});
