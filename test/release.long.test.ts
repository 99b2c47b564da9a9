/**
 * The files of a release, made twice from this checkout and installed as the documentation says. Needs npm's registry
 * or cache, and Linux on x64 or arm64.
 */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from './paths.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-release-'));
const release = join(folder, 'release');
const key = join(folder, 'key');
const signers = join(folder, 'signers');
const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
const archive = `gov-${version}-linux-${process.arch}.tar.gz`;

function run(program: string, args: readonly string[], env: Record<string, string> = {}, cwd = release) {
  const options = {
    cwd,
    env: { HOME: folder, PATH: '/usr/sbin:/usr/bin:/bin', ...env },
    encoding: 'utf8',
  } as const;
  return spawnSync(program, args, options);
}
const install = (home: string, ...args: string[]) => run('sh', ['install.sh', ...args], { HOME: home });
/** A new home directory. */
function newHome(): string {
  return mkdtempSync(join(folder, 'home-'));
}
/** A copy of the release, to be changed. */
function copied(): string {
  const copy = mkdtempSync(join(folder, 'copy-'));
  cpSync(release, copy, { recursive: true });
  return copy;
}

function make(): void {
  const made = spawnSync(process.execPath, ['scripts/release.ts', '--key', key], {
    cwd: projectRoot,
    encoding: 'utf8',
  });
  expect(made).toMatchObject({ status: 0 });
}

beforeAll(() => {
  run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'release', '-f', key], {}, folder);
  writeFileSync(signers, `release@example.com namespaces="file" ${readFileSync(`${key}.pub`, 'utf8')}`);
  make();
  cpSync(join(projectRoot, 'release'), release, { recursive: true });
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a release', () => {
  it('a second release of the same commit has the same bytes in every file', { timeout: 600_000 }, () => {
    make();
    const sums = readFileSync(join(projectRoot, 'release/SHA256SUMS'), 'utf8');
    expect(sums).toBe(readFileSync(join(release, 'SHA256SUMS'), 'utf8'));
    rmSync(join(projectRoot, 'release'), { recursive: true });
  });

  it('sha256sum and ssh-keygen accept the checksums and their signature', () => {
    expect(run('sha256sum', ['--check', '--strict', 'SHA256SUMS'])).toMatchObject({ status: 0 });
    const listed = readFileSync(join(release, 'SHA256SUMS'), 'utf8').trim().split('\n').length;
    expect(listed).toBe(readdirSync(release).length - 2); // the list and its signature
    const words = [
      '-Y',
      'verify',
      '-f',
      signers,
      '-I',
      'release@example.com',
      '-n',
      'file',
      '-s',
      'SHA256SUMS.sig',
    ];
    const input = readFileSync(join(release, 'SHA256SUMS'));
    expect(spawnSync('ssh-keygen', words, { cwd: release, input })).toMatchObject({ status: 0 });
  });

  it('the list of contents names each package of NOTICE, the native package and Node', () => {
    const { bomFormat, components } = JSON.parse(
      readFileSync(join(release, `gov-${version}.cdx.json`), 'utf8'),
    );
    expect(bomFormat).toBe('CycloneDX');
    const notice = readFileSync(join(projectRoot, 'dist/NOTICE'), 'utf8');
    const inside = components.map(
      (each: { name: string; version: string }) => `${each.name} ${each.version}`,
    );
    for (const [, name, its] of notice.matchAll(/^(\S+) (\S+), licence /gm))
      expect(inside).toContain(`${name} ${its}`);
    expect(inside.join('\n')).toMatch(/^better-sqlite3 [\d.]+$/m);
    expect(inside.join('\n')).toMatch(/^node 24\./m);
    expect(inside.join('\n')).not.toMatch(/^vitest /m);
  });

  it('the npm package and the archive have the same list inside', () => {
    const list = readFileSync(join(release, `gov-${version}.cdx.json`), 'utf8');
    const packed = [
      [`gov-${version}.tgz`, 'package/dist/gov.cdx.json'],
      [archive, `gov-${version}/dist/gov.cdx.json`],
    ] as const;
    for (const [file, path] of packed) expect(run('tar', ['-xzOf', file, path]).stdout).toBe(list);
  });
});

describe('install.sh --from', () => {
  it('installs the archive without npm and network, and gov starts with the Node of the archive', () => {
    const home = newHome();
    expect(install(home, '--from', archive, '--signers', signers)).toMatchObject({ status: 0 });
    const started = run(join(home, '.local/bin/gov'), ['version', '-o', 'json']);
    expect(started).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(started.stdout)).toMatchObject({ version, node: expect.stringMatching(/^v?24\./) });
    expect(install(home, '--from', archive)).toMatchObject({ status: 0 });
    expect(readdirSync(join(home, '.local/share/gov/versions'))).toEqual([version]);
    const pages = join(home, '.local/share/man/man1');
    expect(readFileSync(join(pages, 'gov-jobs.1'), 'utf8')).toMatch(/^\.Dd [\s\S]*^\.Nm gov-jobs$/m);
    writeFileSync(join(pages, 'gov-own.1'), 'not ours');
    expect(install(home, '--uninstall', '--purge')).toMatchObject({ status: 0 });
    expect(existsSync(join(home, '.local/bin/gov'))).toBe(false);
    expect(existsSync(join(home, '.local/share/gov/versions'))).toBe(false);
    expect(readdirSync(pages)).toEqual(['gov-own.1']);
  });

  it('goes back to the former version with --rollback, and forward with another', () => {
    const home = newHome();
    install(home, '--from', archive);
    const versions = join(home, '.local/share/gov/versions');
    cpSync(join(versions, version), join(versions, '0.0.1'), { recursive: true, verbatimSymlinks: true });
    const link = join(home, '.local/bin/gov');
    rmSync(link);
    spawnSync('ln', ['-s', join(versions, '0.0.1/bin/gov'), link]);
    install(home, '--from', archive);
    expect(readlinkSync(link)).toBe(join(versions, version, 'bin/gov'));
    expect(install(home, '--rollback')).toMatchObject({ status: 0 });
    expect(readlinkSync(link)).toBe(join(versions, '0.0.1/bin/gov'));
    const page = join(home, '.local/share/man/man1/gov.1');
    expect(readlinkSync(page)).toBe(join(versions, '0.0.1/share/man/man1/gov.1'));
    expect(install(home, '--rollback')).toMatchObject({ status: 0 });
    expect(readlinkSync(link)).toBe(join(versions, version, 'bin/gov'));
  });

  it.each<[string, (at: string) => void, RegExp]>([
    [
      'a changed archive',
      (at) => appendFileSync(join(at, archive), 'x'),
      /expected .* with SHA-256 .*, got /,
    ],
    ['a missing list of checksums', (at) => rmSync(join(at, 'SHA256SUMS')), /found neither/],
    ['a list without the archive', (at) => writeFileSync(join(at, 'SHA256SUMS'), ''), /expected a line for/],
    ['a missing archive', (at) => rmSync(join(at, archive)), /found no file/],
  ])('refuses %s and installs nothing', (_, change, message) => {
    const at = copied();
    const home = newHome();
    change(at);
    const { status, stderr } = run('sh', ['install.sh', '--from', archive], { HOME: home }, at);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(message) });
    expect(existsSync(join(home, '.local/bin/gov'))).toBe(false);
    rmSync(at, { recursive: true });
  });

  it.each<[string, (at: string) => void, RegExp]>([
    [
      'checksums changed after they were signed',
      (at) => appendFileSync(join(at, 'SHA256SUMS'), '\n'),
      /does not/,
    ],
    ['a missing signature', (at) => rmSync(join(at, 'SHA256SUMS.sig')), /expected the signature/],
    ['a signature by another key', signByAnother, /is not\. Nothing was changed/],
  ])('refuses %s where --signers names who may sign', (_, change, message) => {
    const at = copied();
    const home = newHome();
    change(at);
    const args = ['install.sh', '--from', archive, '--signers', signers];
    const { status, stderr } = run('sh', args, { HOME: home }, at);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(message) });
    expect(existsSync(join(home, '.local/bin/gov'))).toBe(false);
    rmSync(at, { recursive: true });
  });

  it('the Debian package runs from its place, with units that name it', ({ skip }) => {
    const name = readdirSync(release).find((file) => file.endsWith('.deb'));
    if (name === undefined) return skip('dpkg-deb is missing');
    const root = join(folder, 'deb');
    mkdirSync(root);
    expect(run('dpkg-deb', ['-x', name, root])).toMatchObject({ status: 0 });
    expect(run(join(root, 'usr/bin/gov'), ['--version']).stdout).toMatch(`gov ${version} (build `);
    const unit = readFileSync(join(root, 'usr/lib/systemd/system/gov-plane.service'), 'utf8');
    expect(unit).toContain('ExecStart=/usr/bin/gov plane serve');
    expect(unit).not.toMatch(/@GOV@|@ROOT@/);
    // Debian policy 12.1: as small as gzip makes it, without the name and the time of a build
    const pages = join(root, 'usr/share/man/man1');
    const names = readdirSync(pages);
    expect(names).toEqual(expect.arrayContaining(['gov.1.gz', 'gov-events.1.gz']));
    for (const page of names) {
      expect(page).toMatch(/^gov(?:-[a-z-]+)?\.1\.gz$/);
      const header = readFileSync(join(pages, page)).subarray(0, 9).toString('hex');
      expect([page, header]).toEqual([page, '1f8b08000000000002']);
    }
    const man = spawnSync('man', ['-l', join(pages, 'gov-events.1.gz')], { encoding: 'utf8' });
    if (man.error === undefined) {
      expect([man.status, man.stderr]).toEqual([0, '']);
      expect(man.stdout).toMatch(/^NAME\n +gov[- ]events\b/m);
    }
  });
});

function signByAnother(at: string): void {
  const other = join(at, 'other');
  run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', other], {}, at);
  rmSync(join(at, 'SHA256SUMS.sig'));
  run('ssh-keygen', ['-q', '-Y', 'sign', '-f', other, '-n', 'file', 'SHA256SUMS'], {}, at);
}
