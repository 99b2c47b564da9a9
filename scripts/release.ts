/**
 * Makes the files of a release in release/: `npm run release -- [--key FILE]` (Linux; Node >= 24).
 *
 *   gov-V.tgz                  the package for npm
 *   gov-V-linux-x64.tar.gz     the package with Node and the native module: needs no network and no npm
 *   gov_V_amd64.deb            the same for Debian and Ubuntu (needs dpkg-deb)
 *   gov-V.cdx.json             what is inside, as a CycloneDX 1.5 list; see sbom.ts. Each package has it as dist/gov.cdx.json
 *   install.sh                 installs the archive: docs/how-to/install.md
 *   SHA256SUMS, SHA256SUMS.sig checksums, and their signature by the SSH key of --key
 *
 * The same commit gives the same bytes: times are those of the commit, or of SOURCE_DATE_EPOCH
 * (https://reproducible-builds.org/specs/source-date-epoch/). Tested by `test/release.long.test.ts`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { manPages } from './man.ts';
import { publishedPackages, sbom } from './sbom.ts';

const project = fileURLToPath(new URL('..', import.meta.url));
const output = join(project, 'release');
const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
const architectures = { x64: 'amd64', arm64: 'arm64' } as const;

/** Runs a program, with its messages on stderr, and returns what it printed. */
function run(program: string, args: readonly string[], options: { cwd?: string; env?: object } = {}): string {
  const env = { ...process.env, LC_ALL: 'C', ...options.env };
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  return execFileSync(program, args, {
    cwd: options.cwd ?? project,
    env,
    stdio: [...stdio],
    encoding: 'utf8',
  });
}

function release({ key }: { key?: string | undefined }): void {
  const arch = process.arch === 'x64' || process.arch === 'arm64' ? process.arch : null;
  if (process.platform !== 'linux' || arch === null)
    throw new Error(`expected Linux on x64 or arm64, got ${process.platform} on ${process.arch}`);
  if (key !== undefined && !existsSync(key))
    throw new Error(`expected a private SSH key, found no file ${key}`);
  const epoch = process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['log', '-1', '--format=%ct']).trim();
  run(process.execPath, ['scripts/build.ts']);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output);
  const scratch = mkdtempSync(join(output, '.make-'));
  try {
    const node = run('scripts/getnode', ['--pinned']).trim();
    const list = sbom({ project, epoch, nodeVersion: run(node, ['--version']).trim().slice(1) });
    writeFileSync(join(output, `gov-${version}.cdx.json`), list);
    writeFileSync(join(project, 'dist/gov.cdx.json'), list);
    run('npm', ['pack', '--pack-destination', output, '--silent']);
    const tree = standalone(scratch, { arch, node });
    manual(tree, epoch);
    archive(tree, { epoch, file: join(output, `gov-${version}-linux-${arch}.tar.gz`) });
    debian(tree, { epoch, scratch, architecture: architectures[arch] });
    cpSync(join(project, 'install.sh'), join(output, 'install.sh'));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  checksums(key);
}

/** Unpacks the package into a folder that runs without anything else: with Node and the native modules. */
function standalone(scratch: string, { arch, node }: { arch: string; node: string }): string {
  const tree = join(scratch, `gov-${version}`);
  run('tar', ['-xzf', join(output, `gov-${version}.tgz`), '-C', scratch]);
  renameSync(join(scratch, 'package'), tree);
  for (const path of publishedPackages(project)) {
    if (!existsSync(join(project, path))) continue; // an optional package of another system
    cpSync(join(project, path), join(tree, path), { recursive: true });
  }
  for (const program of globSync('node_modules/*/prebuilds/*.node', { cwd: tree }))
    if (!program.endsWith(`/linux-${arch}.node`)) rmSync(join(tree, program));
  mkdirSync(join(tree, '.runtime'));
  cpSync(node, join(tree, '.runtime/node'), { dereference: true });
  cpSync(join(dirname(node), '../LICENSE'), join(tree, '.runtime/LICENSE'));
  return tree;
}

/** Adds the manual pages, which the npm package lacks. */
function manual(tree: string, epoch: string): void {
  const folder = join(tree, 'share/man/man1');
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of manPages(Number(epoch) * 1000)) writeFileSync(join(folder, name), text);
}

/** Packs `tree` so that equal contents give equal bytes. */
function archive(tree: string, { epoch, file }: { epoch: string; file: string }): void {
  const fixed = [
    '--sort=name',
    `--mtime=@${epoch}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--format=gnu',
  ];
  const packed = file.replace(/\.gz$/, '');
  run('tar', [...fixed, '--mode=go=rX,u+rw,a-s', '-cf', packed, '-C', dirname(tree), `gov-${version}`]);
  run('gzip', ['-n9', packed]);
}

/** Makes the Debian package: the tree below /usr/lib/gov, the link /usr/bin/gov, manual pages, and systemd units. */
function debian(tree: string, made: { epoch: string; scratch: string; architecture: string }): void {
  const { epoch, scratch, architecture } = made;
  const root = join(scratch, 'deb');
  const at = (path: string): string => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  };
  renameSync(tree, at('usr/lib/gov'));
  renameSync(join(root, 'usr/lib/gov/share/man'), at('usr/share/man'));
  rmSync(join(root, 'usr/lib/gov/share'), { recursive: true });
  run('gzip', ['-n9r', join(root, 'usr/share/man')]);
  mkdirSync(join(root, 'usr/bin'));
  symlinkSync('../lib/gov/bin/gov', join(root, 'usr/bin/gov'));
  for (const name of ['gov-plane', 'gov-service']) {
    const unit = readFileSync(join(project, `docs/systemd/${name}.system.service`), 'utf8');
    const placed = unit.replaceAll('@GOV@', '/usr/bin/gov').replaceAll('@ROOT@', '/usr/lib/gov');
    writeFileSync(at(`usr/lib/systemd/system/${name}.service`), placed);
  }
  const copyright = `Copyright the gov authors. Apache License 2.0: /usr/share/common-licenses/Apache-2.0
Bundled packages and their licences: /usr/lib/gov/dist/NOTICE
`;
  writeFileSync(at('usr/share/doc/gov/copyright'), copyright);
  cpSync(join(project, 'CHANGELOG.md'), at('usr/share/doc/gov/changelog'));
  run('gzip', ['-n9', at('usr/share/doc/gov/changelog')]);
  const kilobytes = run('du', ['-sk', '--apparent-size', root]).split('\t')[0];
  const control = `Package: gov
Version: ${version}
Architecture: ${architecture}
Maintainer: The gov authors <gov@localhost>
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.28), libstdc++6
Section: admin
Priority: optional
Description: governance for AI agents: record, prove, decide, replay
 Records what AI agents do in an append-only log, proves it, decides about tool
 calls by policies, and replays recorded decisions. Brings its own Node.
`;
  writeFileSync(at('DEBIAN/control'), control);
  for (const path of readdirSync(root, { recursive: true, withFileTypes: true }))
    if (path.isDirectory()) chmodSync(join(path.parentPath, path.name), 0o755);
  const file = join(output, `gov_${version}_${architecture}.deb`);
  try {
    run('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z6', '--build', root, file], {
      env: { SOURCE_DATE_EPOCH: epoch },
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    console.error('release: found no dpkg-deb, so there is no Debian package');
  }
}

/** Writes SHA256SUMS as sha256sum does, and signs it where there is a key (namespace `file`, as ssh-keygen proposes). */
function checksums(key: string | undefined): void {
  const lines = readdirSync(output)
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(output, name)))
          .digest('hex')}  ${name}\n`,
    );
  const file = join(output, 'SHA256SUMS');
  writeFileSync(file, lines.join(''));
  if (key === undefined) console.error('release: not signed; --key FILE signs SHA256SUMS with an SSH key');
  else run('ssh-keygen', ['-q', '-Y', 'sign', '-f', key, '-n', 'file', file]);
  process.stdout.write(lines.join(''));
}

const { values } = parseArgs({ options: { key: { type: 'string' } } });
try {
  release(values);
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
