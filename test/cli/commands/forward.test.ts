/** `gov forward`: targets in the configuration of a plane, and a record that is marked as a test. */
import { createServer, type Server } from 'node:http';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyDirectory, gov } from '../support/tool.ts';

const folder = emptyDirectory();
const at = {
  cwd: folder,
  env: { GOV_CONFIG_DIR: join(folder, 'config'), XDG_STATE_HOME: join(folder, 'state') },
};
const dataDir = join(folder, 'plane');
const bodies: string[] = [];
let server: Server;
let url: string;

beforeAll(async () => {
  await gov(['plane', 'init', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off'], at);
  server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      bodies.push(text);
      const isKnown = request.headers.authorization === 'Bearer top-secret';
      response.writeHead(isKnown ? 200 : 401).end(isKnown ? '{"ok":true}' : 'who are you');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

const file = () => JSON.parse(readFileSync(join(dataDir, 'plane.json'), 'utf8')) as { forwards?: object[] };
const forward = (...words: string[]) => gov(['forward', ...words, '--data', dataDir], at);

describe('gov forward', () => {
  it('adds a target to the configuration without its secret, and lists it', async () => {
    writeFileSync(join(folder, 'token'), 'top-secret\n', { mode: 0o600 });
    const words = [
      '--to',
      url,
      '--event-type',
      'tool.*',
      '--decision',
      'deny,block',
      '--secret-file',
      'token',
    ];
    const added = await forward('add', 'siem', ...words, '-o', 'json');
    expect(added).toMatchObject({ code: 0 });
    expect(file().forwards).toEqual([
      {
        name: 'siem',
        to: url,
        secretFile: join(folder, 'token'),
        eventTypes: ['tool.*'],
        decisions: ['deny', 'block'],
      },
    ]);
    const { stdout } = await forward('list', '-o', 'json');
    expect(JSON.parse(stdout).forwards).toMatchObject([
      { name: 'siem', to: url, format: 'json', decisions: ['deny', 'block'] },
    ]);
    expect(added.stdout + stdout).not.toContain('top-secret');
  });

  it('refuses a second target of the name, and a target that is wrong, and leaves the file as it is', async () => {
    const before = readFileSync(join(dataDir, 'plane.json'), 'utf8');
    expect(await forward('add', 'siem', '--to', url)).toMatchObject({ code: 6 });
    const wrong = await forward('add', 'other', '--to', url, '--format', 'cef');
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('expected json or ocsf') });
    const tls = ['--to', 'syslog+tls://siem.example:6514', '--format', 'cef'];
    writeFileSync(join(folder, 'no.pem'), 'no certificate');
    writeFileSync(join(folder, 'open'), 'secret', { mode: 0o644 });
    for (const [words, said] of [
      [[...tls, '--ca', 'missing.pem'], 'missing.pem, which cannot be read'],
      [[...tls, '--ca', 'no.pem'], 'certificates in PEM, got none'],
      [['--to', url, '--secret-file', 'missing'], 'missing, which cannot be read'],
      [['--to', url, '--secret-file', 'open'], 'chmod'],
    ] as const) {
      const { code, stderr } = await forward('add', 'other', ...words);
      expect([code, stderr]).toEqual([expect.toBeOneOf([2, 4]), expect.stringContaining(said)]);
    }
    expect(readFileSync(join(dataDir, 'plane.json'), 'utf8')).toBe(before);
  });

  it('sends one record that is marked as a test, and shows what came back', async () => {
    const tried = await forward('test', 'siem', '-o', 'json');
    expect(tried).toMatchObject({ code: 0 });
    const { id, said, ok } = JSON.parse(tried.stdout) as { id: string; said: string; ok: boolean };
    expect([said, ok]).toEqual(['200 {"ok":true}', true]);
    expect(JSON.parse(bodies.at(-1)!)).toMatchObject({
      id,
      eventType: 'gov.forward.test',
      data: { test: true },
    });
  });

  it('ends with 3 where the receiver refuses the record, and says what it answered', async () => {
    writeFileSync(join(folder, 'token'), 'another', { mode: 0o600 });
    const tried = await forward('test', 'siem');
    expect(tried).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('the receiver answered 401: who are you'),
    });
  });

  it('removes a target', async () => {
    expect(await forward('remove', 'siem', '--yes')).toMatchObject({ code: 0 });
    expect(file().forwards).toBeUndefined();
    expect(await forward('remove', 'siem', '--yes')).toMatchObject({ code: 5 });
  });
});
