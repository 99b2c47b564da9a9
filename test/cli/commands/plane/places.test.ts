/** Where a plane that does not serve is copied and archived to: not into itself, and not onto a disk that is full. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mountSmall } from '../../../faults/full.ts';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';
import { Account } from '../../support/account.ts';

const account = new Account();
const at = (name: string): string => join(account.folder, name);
let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ environment: 'sandbox' });
  const events = Array.from({ length: 100 }, () =>
    event({ runId: 'old', metadata: { text: 'x'.repeat(500) } }),
  );
  expect((await plane.call('POST', '/events/batch', { body: { events } })).status).toBeLessThan(300);
  await plane.close();
});
afterAll(() => plane.end());

const gov = (...words: string[]) => account.gov([...words, '--data', plane.dataDir]);

it('gov plane status reports a stopped plane without a fixed port as not running', async () => {
  const { code, stdout } = await gov('plane', 'status', '-o', 'json');
  expect([code, JSON.parse(stdout)]).toMatchObject([
    10,
    { state: 'not serving', reasons: [`not running: no process serves ${plane.dataDir}`] },
  ]);
});

it('gov plane status does not take another plane at the same address for its own', async () => {
  const other = await startPlane();
  try {
    const file = join(plane.dataDir, 'plane.json');
    const own = readFileSync(file, 'utf8');
    const { host } = new URL(other.baseUrl);
    writeFileSync(file, JSON.stringify({ ...JSON.parse(own), listen: host }));
    const { code, stdout } = await gov('plane', 'status', '-o', 'json');
    writeFileSync(file, own);
    expect([code, JSON.parse(stdout)]).toMatchObject([
      10,
      { state: 'not serving', reasons: [expect.stringContaining('not_this_plane: ')] },
    ]);
  } finally {
    await other.end();
  }
});

it('gov plane status does not take the plane of the folder that it was copied from for its own', async () => {
  const live = await startPlane();
  try {
    // a copy while the plane serves has its address, its keys and its run.json
    const copy = at('live-copy');
    cpSync(live.dataDir, copy, { recursive: true });
    const file = join(copy, 'plane.json');
    const { host } = new URL(live.baseUrl);
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), listen: host }));
    const status = () => account.gov(['plane', 'status', '--data', copy, '-o', 'json']);
    const unserved = {
      state: 'not serving',
      pid: null,
      version: null,
      reasons: [
        `not_this_plane: no process serves ${copy}; the plane of another folder answers at this address`,
      ],
    };
    const withRunFile = await status();
    expect([withRunFile.code, JSON.parse(withRunFile.stdout)]).toMatchObject([10, unserved]);

    await account.gov(['context', 'set', 'copy', '--data', copy]);
    const asked = (...words: string[]) => account.gov([...words, '-C', 'copy', '--retries', '0']);
    const refused = expect.stringContaining(`no process serves ${copy}\n  gov plane serve --data ${copy}`);
    const listed = await asked('runs', 'list');
    expect([listed.code, listed.stderr]).toEqual([10, refused]);

    // a restored backup has no run.json: nothing is sent to the plane that answers there
    rmSync(join(copy, 'run.json'));
    expect(await status()).toMatchObject({ code: 10 });
    expect(await asked('runs', 'list')).toMatchObject({ code: 10, stderr: refused });
    const own = await account.gov(['plane', 'status', '--data', live.dataDir, '-o', 'json']);
    expect(JSON.parse(own.stdout).pid).toBe(process.pid);
  } finally {
    await live.end();
  }
});

it('a backup inside its own plane directory is refused under any name of the directory', async () => {
  symlinkSync(plane.dataDir, at('link'));
  const before = readdirSync(plane.dataDir).toSorted();
  for (const out of [join(plane.dataDir, 'copy'), join(plane.dataDir, 'a', 'b'), at('link/copy')]) {
    expect(await gov('plane', 'backup', '-O', out)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('outside the data directory'),
    });
  }
  expect(readdirSync(plane.dataDir).toSorted()).toEqual(before);
  // a name that begins alike is another place
  expect((await gov('plane', 'backup', '-O', `${plane.dataDir}..copy`)).code).toBe(0);
});

const mayMount = process.getuid?.() === 0 && process.platform === 'linux';
if (mayMount) mkdirSync(at('small'));
const unmount = mayMount ? mountSmall(at('small'), 1) : null;

describe.skipIf(unmount === null)('a disk that is full (skipped where root may not mount a tmpfs)', () => {
  beforeAll(() => writeFileSync(at('small/most'), Buffer.alloc(1024 * 1024 - 8192)));
  afterAll(() => unmount?.());

  it.each([
    ['a backup', ['plane', 'backup', '-O', 'small/copy'], 'the copy'],
    ['an archive', ['log', 'prune', '--before', 'now', '--archive', 'small/old.gz', '--yes'], 'the archive'],
  ])('a full disk is named by %s, which leaves no files there', async (_, words, what) => {
    const time = new Date(Date.now()).toISOString();
    const { code, stderr } = await gov(...words.map((word) => (word === 'now' ? time : word)));
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`expected space for ${what} at ${at('small/')}`),
    ]);
    expect(stderr).toContain('another disk');
    expect(stderr).not.toMatch(/--debug|plane’s machine/);
    expect(readdirSync(at('small'))).toEqual(['most']);
  });
});

it('gov log prune removes drafts that a killed run of the same archive left', async () => {
  const archive = at('old.gz');
  // no process has this id; the parent lives
  const [dead, living, other] = [
    `${archive}.99999999.tmp`,
    `${archive}.${process.ppid}.tmp`,
    `${archive}.tmp`,
  ];
  for (const path of [dead, living, other]) writeFileSync(path, 'half');
  const pruned = await gov(
    'log',
    'prune',
    '--before',
    new Date().toISOString(),
    '--archive',
    archive,
    '--yes',
  );
  expect([pruned.code, pruned.stderr]).toEqual([0, expect.not.stringContaining('error')]);
  expect([dead, living, other].map((path) => existsSync(path))).toEqual([false, true, true]);
  expect(readFileSync(archive).subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
});
