import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pinOfHooks } from '../../../src/cli/agents/pin.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { emptyDirectory, gov, type Result } from '../support/tool.ts';

let plane: TestPlane;
const home = emptyDirectory();
const connection = join(home, '.config/gov/agents.json');
const env = () => ({
  HOME: home,
  GOV_CONFIG_DIR: join(home, '.config/gov'),
  PATH: '/usr/bin:/bin',
  GOV_BASE_URL: plane.baseUrl,
  GOV_API_KEY: plane.key,
});
beforeAll(async () => {
  plane = await startPlane();
  const { code, stderr } = await gov(['agents', 'install', 'claude-code', '--scope', 'user'], { env: env() });
  expect({ code, stderr }).toMatchObject({ code: 0 });
});
afterAll(() => plane.end());

const call = JSON.stringify({
  session_id: 'session-1',
  hook_event_name: 'PreToolUse',
  cwd: '/work',
  tool_name: 'Bash',
  tool_input: { command: 'ls' },
  tool_use_id: 'toolu_1',
});
const hook = (config: string): Promise<Result> =>
  gov(['hook', 'claude-code', '--config', config], { input: call });
const changed = (name: string, members: object): string => {
  const path = join(home, name);
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(connection, 'utf8')), ...members }));
  return path;
};

describe('the plane of hooks', () => {
  it('gov agents install pins the key and the keys of the plane, and the hook decides with them', async () => {
    const { pin } = JSON.parse(readFileSync(connection, 'utf8'));
    expect(pin).toMatchObject({
      keyId: expect.stringMatching(/^key_/),
      projectId: expect.stringMatching(/^prj_/),
    });
    const trust = readFileSync(join(plane.dataDir, 'trust'), 'utf8');
    for (const key of pin.planeKeys) expect(trust).toContain(key);
    expect(await hook(connection)).toMatchObject({ code: 0, stdout: '{}\n', stderr: '' });
  });

  it('another program at the address gets no key of the hook, and cannot let a call run', async () => {
    const heard: string[] = [];
    const server = createServer((request, response) => {
      heard.push(JSON.stringify([request.url, request.rawHeaders]));
      request.on('data', (chunk: Buffer) => heard.push(chunk.toString()));
      request.on('end', () => {
        response.writeHead(200, { 'content-type': 'application/json', 'gov-answer-signature': 'AAAA' });
        response.end('{"allowed":true,"decision":"allow","evaluationId":"evl_1","eventId":"evt_1"}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/api/v1`;
    const { code, stderr } = await hook(changed('fake.json', { baseUrl }));
    expect(code).toBe(2);
    expect(stderr).toContain('expected an answer that the pinned plane signed, got 200 with another one');
    expect(stderr).toContain('gov agents install');
    const { keyFile } = JSON.parse(readFileSync(connection, 'utf8'));
    expect(heard.length).toBeGreaterThan(0);
    expect(heard.join('\n')).not.toContain(readFileSync(keyFile, 'utf8').trim());
    server.close();
  });

  it('a plane whose keys are not the pinned ones lets no call run', async () => {
    const { pin } = JSON.parse(readFileSync(connection, 'utf8'));
    const other = await startPlane();
    const trust = readFileSync(join(other.dataDir, 'trust'), 'utf8');
    await other.end();
    const planeKeys = [/^log (\S+)$/m.exec(trust)?.[1]];
    const { code, stderr } = await hook(changed('other.json', { pin: { ...pin, planeKeys } }));
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('pinned plane') });
  });

  it('gov agents doctor names a connection that pins no plane', async () => {
    const before = readFileSync(connection, 'utf8');
    const { pin: _pin, ...rest } = JSON.parse(before);
    writeFileSync(connection, JSON.stringify(rest));
    const { stdout } = await gov(['agents', 'doctor', 'claude-code', '-o', 'json'], { env: env() });
    expect(JSON.parse(stdout).clients[0].problems).toContainEqual(
      expect.stringMatching(
        /^open: another program at http.* gets the key of the hooks; close it with gov agents/,
      ),
    );
    writeFileSync(connection, before);
    const again = await gov(['agents', 'doctor', 'claude-code', '-o', 'json'], { env: env() });
    expect(JSON.parse(again.stdout).clients[0]).toMatchObject({ reachable: true });
    expect(again.stdout).not.toContain('another program at');
  });

  it('a proxy with the key of hooks pins the same plane, and a program with another key does not', () => {
    mkdirSync(join(home, 'x'), { recursive: true });
    const { keyFile } = JSON.parse(readFileSync(connection, 'utf8'));
    const key = readFileSync(keyFile, 'utf8').trim();
    const find = pinOfHooks(env());
    expect(find({ baseUrl: plane.baseUrl, key })).not.toBeNull();
    expect(find({ baseUrl: plane.baseUrl, key: 'gov_live_x' })).toBeNull();
    expect(find({ baseUrl: 'http://127.0.0.1:1/api/v1', key })).toBeNull();
  });
});
