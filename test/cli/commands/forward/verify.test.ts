/** `gov forward verify` as a command: where it reads, what it prints, and how it exits. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bucketArchive } from '../../../../src/host/forwards/archive.ts';
import { Bucket } from '../../../../src/host/forwards/bucket.ts';
import { ObjectTransport } from '../../../../src/host/forwards/objects.ts';
import { source } from '../../../core/forwards/samples.ts';
import { batch, options, target } from '../../../host/forwards/support/batches.ts';
import { ObjectStore } from '../../../host/forwards/support/object-store.ts';
import { cleanEnv, emptyDirectory, ended, gov, govHere, runner } from '../../support/tool.ts';

const store = new ObjectStore();
const folder = emptyDirectory();
const aws = { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };
const { projectId, origin } = source;
const range = (from: number, to: number): string =>
  `records/${[from, to].map((at) => String(at).padStart(16, '0')).join('-')}.ndjson.gz`;

beforeAll(async () => {
  await store.start();
  const place = target('s3', {
    to: 's3://siem/gov',
    endpoint: store.endpoint,
    region: 'eu-central-1',
    accessKeyId: 'S3RVER',
    secretEnv: 'SECRET',
  });
  const env = { SECRET: 'S3RVER' };
  const transport = new ObjectTransport(place, { ...options, env });
  const first = await transport.send(batch(0, 3), null);
  const second = await transport.send(batch(3, 5), first.ok ? first.state : null);
  if (!second.ok) throw new Error(second.failed);
  transport.close();
  const archive = bucketArchive(new Bucket(place, env), 'gov');
  for (const part of ['manifests', 'records'])
    for await (const name of archive.names(`${projectId}/${part}`)) {
      const path = join(folder, 'copy', projectId, part, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, (await archive.read(`${projectId}/${part}/${name}`, 1e6))!);
    }
  archive.close();
});
afterAll(async () => {
  await store.stop();
  rmSync(folder, { recursive: true, force: true });
});

const verify = (words: readonly string[], env: Readonly<Record<string, string>> = aws) =>
  govHere(['forward', 'verify', ...words], { cwd: folder, env });
const inStore = (bucket = 'siem') => [`s3://${bucket}/gov`, '--endpoint', store.endpoint];

describe('gov forward verify', () => {
  it('finds an archive in a bucket whole and exits with 0: as JSON, in a pipe, on a screen', async () => {
    const { code, stdout } = await verify([...inStore(), '--origin', origin, '-o', 'json']);
    expect(code).toBe(0);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({
      ok: true,
      chains: [{ projectId, origin, manifests: 2, objects: 2, records: 5, leaves: { from: 0, to: 5 } }],
    });
    const [{ head }] = report.chains;
    const rows = `archive\twhole\nchain\t${projectId}\t${origin}\t2\t2\t5\t0\t5\t${head}\n`;
    expect(await verify([...inStore(), '--contains', head])).toMatchObject({ code: 0, stdout: rows });
    expect(await verify(['copy'], {})).toMatchObject({ code: 0, stdout: rows });
    const screen = await verify([...inStore(), '-o', 'table']);
    expect(screen.stdout).toContain('✓ whole  1 chain of manifests');
    expect(screen.stdout).toContain(`2 manifests, 2 objects, 5 records, leaves 0 to 4\n  head  ${head}`);
  });

  it('takes address and secret of a configured target', async () => {
    const at = { cwd: folder, env: { GOV_CONFIG_DIR: join(folder, 'config') } };
    await gov(['plane', 'init', '--data', 'plane', '--listen', '127.0.0.1:0', '--metrics-listen', 'off'], at);
    const flags = ['--region', 'eu-central-1', '--access-key-id', 'S3RVER', '--secret-env', 'ARCHIVE'];
    const to = ['--to', 's3://siem/gov', '--endpoint', store.endpoint, '--data', 'plane'];
    expect(await gov(['forward', 'add', 'archive', ...to, ...flags], at)).toMatchObject({ code: 0 });
    const words = ['--target', 'archive', '--data', 'plane'];
    expect(await verify(words, { ARCHIVE: 'S3RVER' })).toMatchObject({ code: 0 });
    expect(await verify(words, { ARCHIVE: 'another' })).toMatchObject({ code: 4 });
    expect(await verify(words, {})).toMatchObject({ code: 2, stderr: expect.stringContaining('ARCHIVE') });
    expect(await verify(['--target', 'other', '--data', 'plane'])).toMatchObject({ code: 5 });
  });

  it('exits with 3 for a changed object, and names it', async () => {
    const file = join(folder, 'copy', projectId, range(3, 4));
    expect(readdirSync(dirname(file))).toHaveLength(2);
    writeFileSync(file, 'changed');
    const { code, stdout } = await verify(['copy']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^archive\tnot whole\n/);
    expect(stdout).toMatch(
      new RegExp(`^problem\t${projectId}\t0000000001.json: ${range(3, 4)}: expected \\d+ bytes, got 7$`, 'm'),
    );
  });

  it('exits with 4 for a wrong secret, 5 without the bucket, the folder or a manifest, 2 for wrong words', async () => {
    const wrong = { ...aws, AWS_SECRET_ACCESS_KEY: 'another' };
    expect(await verify(inStore(), wrong)).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('403: SignatureDoesNotMatch: The request signature'),
    });
    for (const words of [inStore('other'), ['missing'], [`s3://siem/none`, '--endpoint', store.endpoint]])
      expect(await verify(words)).toMatchObject({ code: 5, stdout: '' });
    const { AWS_REGION: _, ...withoutRegion } = aws;
    expect(await verify(inStore(), withoutRegion)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected --region, or the variable AWS_REGION'),
    });
    for (const words of [[], ['copy', '--target', 'x'], ['https://siem.example/gov']])
      expect(await verify(words)).toMatchObject({ code: 2, stdout: '' });
  });

  it('ends at once with 130 when Ctrl-C comes while the store does not answer', async () => {
    let asked = (): void => {};
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const silent = createServer(() => asked());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const words = ['forward', 'verify', 's3://siem/gov', '--endpoint', endpoint];
    const child = spawn(process.execPath, [runner, ...words], { env: cleanEnv(aws) });
    const end = ended(child);
    await isAsked;
    child.kill('SIGINT');
    expect(await end).toMatchObject({ code: 130, stdout: '', stderr: '' });
    silent.close();
  });
});
