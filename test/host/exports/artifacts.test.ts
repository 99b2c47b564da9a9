/** Artifacts in files and in a database: whole or not at all, whatever becomes of whoever writes them. */
import { execFileSync, spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunkArtifacts } from '../../../src/host/exports/chunked.ts';
import { sealedArtifacts } from '../../../src/host/exports/sealed.ts';
import { fileArtifacts } from '../../../src/host/exports/files.ts';
import { chunkBytes, type Artifacts } from '../../../src/service/hosting/artifacts.ts';
import { openPostgres, type PostgresStore } from '../../../src/store/postgres/store.ts';
import { codeOf, genesis, HandClock, projectOf, seededBytes } from '../../store/support/fixture.ts';
import { missingServer, startServer, type Server } from '../../store/postgres/support/server.ts';

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

async function readAll(
  artifacts: Artifacts,
  name: string,
  { from = 0, to = content.length, size = content.length } = {},
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const made = { artifact: name, sizeBytes: size };
  for await (const chunk of artifacts.read(of, made, { from, to })) {
    expect(chunk.length).toBeLessThanOrEqual(chunkBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function holds(open: () => Artifacts): void {
  it('an artifact is read whole and in parts', async () => {
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
      expect((await readAll(open(), name, { from, to })).equals(content.subarray(from, to))).toBe(true);
    }
    expect(await codeOf(readAll(open(), name, { size: content.length + 1 }))).toBe('EXPORT_FAILED');
    expect(await codeOf(readAll(open(), 'another'))).toBe('EXPORT_FAILED');
  });

  it('an artifact of an unfinished attempt is removed', async () => {
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
    expect((await readAll(open(), name, { to: 10, size: 10 })).equals(first)).toBe(true);
  });

  it('an artifact is removed with its export, and no other artifact is', async () => {
    const kept = await open().create(other);
    await kept.write(first);
    const name = await kept.finish();
    const writer = await open().create(of);
    const gone = await writer.finish();
    await open().remove(of);
    await open().remove(of);
    expect(await codeOf(readAll(open(), gone, { to: 1, size: 10 }))).toBe('EXPORT_FAILED');
    const chunks = [];
    for await (const chunk of open().read(other, { artifact: name, sizeBytes: 10 }, { from: 0, to: 10 }))
      chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(first)).toBe(true);
  });
}

const masterKey = seededBytes('master')(32);
const sealed = (inner: Artifacts, key = masterKey): Artifacts =>
  sealedArtifacts(inner, { masterKey: key, randomBytes: seededBytes(String(Math.random())) });

describe('artifacts in files that are sealed', () => {
  const files = () => fileArtifacts(join(folder, 'sealed'), seededBytes(String(Math.random())));
  const open = () => sealed(files());
  holds(open);

  const made = async (bytes: Uint8Array, artifacts = open(), whose = of) => {
    const writer = await artifacts.create(whose);
    for (let at = 0; at < bytes.length; at += 300_001) await writer.write(bytes.subarray(at, at + 300_001));
    const artifact = await writer.finish();
    const path = join(folder, 'sealed', 'prj_a', `${whose.exportId}.${artifact.replace('sealed1.', '')}`);
    return { artifact, path };
  };
  const frame = 64 * 1024;
  const sealedFrame = frame + 16;

  it.each([0, 1, frame - 1, frame, frame + 1, 3 * frame, 3 * frame + 5])(
    'a sealed artifact of %s bytes is read whole, and in every part',
    async (size) => {
      const bytes = content.subarray(0, size);
      const { artifact, path } = await made(bytes);
      expect(statSync(path).size).toBe(32 + size + 16 * Math.max(1, Math.ceil(size / frame)));
      const places = [0, 1, frame - 1, frame, frame + 1, 2 * frame, size - 1, size];
      for (const from of places) {
        for (const to of places) {
          if (from > to || from < 0 || to > size) continue;
          const part = await readAll(open(), artifact, { from, to, size });
          expect(part.equals(bytes.subarray(from, to)), `${from} to ${to}`).toBe(true);
        }
      }
    },
  );

  it('a sealed artifact reveals no content, and only its own key opens it', async () => {
    const { artifact, path } = await made(Buffer.alloc(2 * frame, 'canary'));
    expect(readFileSync(path).includes('canary')).toBe(false);
    const size = 2 * frame;
    const other = sealed(files(), seededBytes('other')(32));
    expect(await codeOf(readAll(other, artifact, { to: size, size }))).toBe('EXPORT_FAILED');
    expect(await codeOf(readAll(files(), artifact, { to: size, size }))).toBe('EXPORT_FAILED');
  });

  it('a sealed artifact with a changed byte or with exchanged, removed or added frames is refused', async () => {
    const size = 3 * frame;
    const { artifact, path } = await made(content.subarray(0, size));
    const whole = readFileSync(path);
    const frameAt = (n: number): Buffer => whole.subarray(32 + n * sealedFrame, 32 + (n + 1) * sealedFrame);
    const read = (range = {}) => codeOf(readAll(open(), artifact, { to: size, size, ...range }));
    for (const at of [0, 31, 32, 32 + frame, 32 + sealedFrame, whole.length - 1]) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 1;
      writeFileSync(path, changed);
      expect(await read(), `byte ${at}`).toBe('EXPORT_FAILED');
    }
    const salt = whole.subarray(0, 32);
    const [first, second, third] = [frameAt(0), frameAt(1), frameAt(2)];
    writeFileSync(path, Buffer.concat([salt, second, first, third]));
    expect(await read()).toBe('EXPORT_FAILED');
    writeFileSync(path, Buffer.concat([salt, first, second]));
    expect(await read()).toBe('EXPORT_FAILED');
    // one that is shorter, by the word of a row that was changed too
    expect(await read({ to: 2 * frame, size: 2 * frame })).toBe('EXPORT_FAILED');
    const another = await made(content.subarray(0, size), open(), other);
    writeFileSync(path, readFileSync(another.path));
    expect(await read()).toBe('EXPORT_FAILED');
    writeFileSync(path, whole);
    expect(await read()).toBe('none');
  });

  it('an artifact made before there was a key is read without a key', async () => {
    const { artifact } = await made(content, files());
    expect((await readAll(open(), artifact)).equals(content)).toBe(true);
  });
});

describe('artifacts in files', () => {
  const open = () => fileArtifacts(join(folder, 'files'), seededBytes(String(Math.random())));
  holds(open);

  it('an artifact in a file is refused when it is a link, a pipe, a folder or of another size', async () => {
    const writer = await open().create(of);
    await writer.write(content);
    const name = await writer.finish();
    const path = join(folder, 'files', 'prj_a', `exp_1.${name}`);
    const elsewhere = join(folder, 'elsewhere');
    renameSync(path, elsewhere);
    const lost = async (): Promise<void> => {
      expect(await codeOf(readAll(open(), name))).toBe('EXPORT_FAILED');
      rmSync(path, { recursive: true, force: true });
    };
    await lost();
    symlinkSync(elsewhere, path);
    await lost();
    execFileSync('mkfifo', [path]);
    await lost();
    mkdirSync(path);
    await lost();
    writeFileSync(path, content.subarray(1));
    await lost();
    renameSync(elsewhere, path);
    expect((await readAll(open(), name)).equals(content)).toBe(true);
    await open().remove(of);
  });

  it('an artifact in a file is readable by its owner alone', async () => {
    const writer = await open().create(of);
    await writer.write(first);
    const name = await writer.finish();
    const place = join(folder, 'files', 'prj_a');
    expect(statSync(join(place, `exp_1.${name}`)).mode & 0o777).toBe(0o600);
    expect(statSync(place).mode & 0o777).toBe(0o700);
    expect(readdirSync(place).filter((each) => each.startsWith('exp_1.'))).toEqual([`exp_1.${name}`]);
  });

  it('an artifact of a killed process is a part that the next attempt removes', async () => {
    const directory = join(folder, 'killed');
    const script = `
      import { fileArtifacts } from ${JSON.stringify(join(import.meta.dirname, '../../../src/host/exports/files.ts'))};
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
    expect(await codeOf(readAll(artifacts, '0000000000000000', { to: 1 }))).toBe('EXPORT_FAILED');
    const writer = await artifacts.create(of);
    expect(left()).toEqual([]);
    await writer.abort();
  });

  const mayMount = process.getuid?.() === 0 && process.platform === 'linux';
  it.runIf(mayMount)('an artifact on a full disk is refused and leaves no file', async () => {
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
  const open = () => chunkArtifacts(store.chunks, seededBytes(String(Math.random())));
  holds(open);
  describe('that are sealed', () => holds(() => sealed(open())));
});
