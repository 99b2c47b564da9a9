/** Artifacts in files and in a database: whole or not at all, whatever becomes of whoever writes them. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunkArtifacts } from '../../src/host/chunkartifacts.ts';
import { fileArtifacts } from '../../src/host/fileartifacts.ts';
import { chunkBytes, type Artifacts } from '../../src/service/artifacts.ts';
import { openPostgres, type PostgresStore } from '../../src/store/postgres/index.ts';
import { codeOf, genesis, HandClock, projectOf, seededBytes } from '../store/fixture.ts';
import { missingServer, startServer, type Server } from '../store/postgres/server.ts';

const of = { projectId: 'prj_a', exportId: 'exp_1' };
const other = { projectId: 'prj_a', exportId: 'exp_2' };
const content = seededBytes('content')(2 * chunkBytes + 100);
const [first, second, third] = [
  content.subarray(0, 10),
  content.subarray(10, chunkBytes + 7),
  content.subarray(chunkBytes + 7),
];

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'gov-artifacts-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function readAll(artifacts: Artifacts, name: string, from = 0, to = content.length): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of artifacts.read(of, name, { from, to })) {
    expect(chunk.length).toBeLessThanOrEqual(chunkBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function holds(open: () => Artifacts): void {
  it('are read whole and in parts', async () => {
    const writer = await open().create(of);
    for (const bytes of [first, second, third]) await writer.write(bytes);
    const name = await writer.finish();
    expect((await readAll(open(), name)).equals(content)).toBe(true);
    for (const [from, to] of [
      [0, 1],
      [chunkBytes - 1, chunkBytes + 1],
      [chunkBytes, 2 * chunkBytes],
      [content.length - 1, content.length],
      [5, 5],
    ] as const) {
      expect((await readAll(open(), name, from, to)).equals(content.subarray(from, to))).toBe(true);
    }
    expect(await codeOf(readAll(open(), name, 0, content.length + 1))).toBe('STORAGE_FAULT');
    expect(await codeOf(readAll(open(), 'another'))).toBe('STORAGE_FAULT');
  });

  it('of attempts that were not finished leave nothing', async () => {
    const aborted = await open().create(of);
    await aborted.write(content);
    await aborted.abort();
    const lost = await open().create(of);
    await lost.write(content);
    const writer = await open().create(of);
    await writer.write(first);
    const name = await writer.finish();
    // it lost its job to the attempt after it, and finds out at the end
    await lost.abort();
    expect((await readAll(open(), name, 0, 10)).equals(first)).toBe(true);
  });

  it('go with their export, and no other does', async () => {
    const kept = await open().create(other);
    await kept.write(first);
    const name = await kept.finish();
    const writer = await open().create(of);
    const gone = await writer.finish();
    await open().remove(of);
    await open().remove(of);
    expect(await codeOf(readAll(open(), gone, 0, 1))).toBe('STORAGE_FAULT');
    const chunks = [];
    for await (const chunk of open().read(other, name, { from: 0, to: 10 })) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(first)).toBe(true);
  });
}

describe('artifacts in files', () => {
  const open = () => fileArtifacts(join(folder, 'files'), seededBytes(String(Math.random())));
  holds(open);

  it('are for their owner alone', async () => {
    const writer = await open().create(of);
    await writer.write(first);
    const name = await writer.finish();
    const place = join(folder, 'files', 'prj_a');
    expect(statSync(join(place, `exp_1.${name}`)).mode & 0o777).toBe(0o600);
    expect(statSync(place).mode & 0o777).toBe(0o700);
    expect(readdirSync(place).filter((each) => each.startsWith('exp_1.'))).toEqual([`exp_1.${name}`]);
  });

  it('of a process that is killed are a part that the next attempt removes', async () => {
    const directory = join(folder, 'killed');
    const script = `
      import { fileArtifacts } from ${JSON.stringify(join(import.meta.dirname, '../../src/host/fileartifacts.ts'))};
      const writer = await fileArtifacts(${JSON.stringify(directory)}, (n) => new Uint8Array(n)).create(${JSON.stringify(of)});
      await writer.write(new Uint8Array(100));
      console.log('written');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.kill('SIGKILL');
    await ended;
    const left = (): string[] => readdirSync(join(directory, 'prj_a'));
    expect(left()).toEqual([expect.stringMatching(/^exp_1\.[0-9a-f]{16}\.part$/)]);
    const artifacts = fileArtifacts(directory, seededBytes('next'));
    expect(await codeOf(readAll(artifacts, '0000000000000000', 0, 1))).toBe('STORAGE_FAULT');
    const writer = await artifacts.create(of);
    expect(left()).toEqual([]);
    await writer.abort();
  });

  const mayMount = process.getuid?.() === 0 && process.platform === 'linux';
  it.runIf(mayMount)('on a full disk are refused, and leave it as it was', async () => {
    const directory = join(folder, 'full');
    mkdirSync(directory);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory], { stdio: 'pipe' });
    } catch {
      return; // root without the right to mount, as in most containers
    }
    try {
      const artifacts = fileArtifacts(directory, seededBytes('full'));
      const writer = await artifacts.create(of);
      expect(await codeOf(writer.write(content))).toBe('STORAGE_FULL');
      await writer.abort();
      expect(readdirSync(join(directory, 'prj_a'))).toEqual([]);
    } finally {
      execFileSync('umount', ['-l', directory]);
    }
  });
});

describe.skipIf(missingServer() !== null)('artifacts in a database', () => {
  let server: Server;
  let store: PostgresStore;
  beforeAll(async () => {
    const started = await startServer();
    if ('missing' in started) throw new Error(started.missing);
    server = started;
    const { serving: url } = await server.database();
    store = await openPostgres({ url, clock: new HandClock(), randomBytes: seededBytes('store') });
    await store.createProject(projectOf('a'), genesis('a'));
  });
  afterAll(async () => {
    await store.close();
    await server.stop();
  });
  holds(() => chunkArtifacts(store.chunks, seededBytes(String(Math.random()))));
});
