/**
 * The list of what a release contains, in CycloneDX 1.5 (ECMA-424): bundled packages, native packages, what files of
 * `dist` and machine code of native packages contain beyond packages of npm, and Node. npm writes the list of all packages of the lock file; this keeps
 * those that users get, and leaves out what differs between two runs. Tested by `test/sbom.test.ts` and
 * `test/release.long.test.ts`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
}

/** Folders of the packages that an installation brings, below the project: `node_modules/better-sqlite3`. */
export function publishedPackages(project: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'));
  return Object.entries<{ dev?: boolean; devOptional?: boolean }>(packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && dev !== true && devOptional !== true)
    .map(([path]) => path);
}

/** `name@version` of each package in a bundle, or whose declarations are in `dist`, as dist/NOTICE names it. */
function bundled(project: string): string[] {
  const notice = readFileSync(join(project, 'dist/NOTICE'), 'utf8');
  return [...notice.matchAll(new RegExp(packageTitle, 'gm'))].map(
    ([, name, version]) => `${name}@${version}`,
  );
}

const part = (purl: string, license: string, description: string): Component & Record<string, unknown> => {
  const [, name = '', version = 'unknown'] = /([^/@]+)(?:@([^/]+))?$/.exec(purl) ?? [];
  return {
    'bom-ref': purl,
    type: 'library',
    name,
    version,
    purl,
    description,
    licenses: [{ expression: license }],
  };
};

/**
 * What a file of `dist` contains that npm does not name: codecs by the makefiles of `@jsquash`, crates by the paths in
 * the file, fonts by `assets/fonts/README.md`.
 */
const contents: Readonly<Record<string, readonly Component[]>> = {
  'webp_dec.wasm': [
    part(
      'pkg:github/webmproject/libwebp@d2e245ea9e959a5a79e1db0ed2085206947e98f2',
      'BSD-3-Clause',
      'decodes WebP',
    ),
  ],
  'mozjpeg_dec.wasm': [
    part('pkg:github/mozilla/mozjpeg@v3.3.1', 'IJG AND BSD-3-Clause AND Zlib', 'decodes JPEG'),
  ],
  'squoosh_png_bg.wasm': [
    ['png', '0.17.10'],
    ['fdeflate', '0.3.3'],
    ['flate2', '1.0.28'],
    ['miniz_oxide', '0.7.1'],
    ['crc32fast', '1.3.2'],
    ['dlmalloc', '0.2.6'],
  ].map(([name, version]) =>
    part(`pkg:cargo/${name}@${version}`, 'MIT OR Apache-2.0', 'decodes and encodes PNG'),
  ),
  'NotoSans-Regular.ttf': [part('pkg:generic/NotoSans@2.004', 'OFL-1.1', 'font of reports')],
  'NotoSans-Bold.ttf': [],
  'sRGB_IEC61966_2_1.icc': [part('pkg:generic/sRGB2014@2015', 'LicenseRef-ICC', 'colour profile of reports')],
  'NotoSansMono-Regular.ttf': [part('pkg:generic/NotoSansMono@2.006', 'OFL-1.1', 'font of reports')],
};

/**
 * What a bundled package contains of other authors, by comments of its files that dist/NOTICE repeats. Empty where the
 * comment is by the author of the package. `notice.ts` ends the build at a package with such a comment that is not here.
 */
export const inPackages: Readonly<Record<string, readonly Component[]>> = {
  brotli: [part('pkg:github/google/brotli', 'Apache-2.0', 'decodes Brotli, in brotli')],
  nodemailer: [
    part(
      'pkg:github/mathiasbynens/punycode.js@ef3505c8abb5143a00d53ce59077c9f7f4b2ac47',
      'MIT',
      'names of hosts, in nodemailer',
    ),
  ],
  '@fastify/deepmerge': [part('pkg:github/TehShrike/deepmerge', 'MIT', 'in @fastify/deepmerge')],
  '@fastify/proxy-addr': [],
  '@jsquash/jpeg': [],
  'd3-path': [],
  'd3-shape': [],
  fontkit: [],
  'pg-connection-string': [],
  'toad-cache': [],
  'yoga-layout': [],
};

/** Works of dist/NOTICE that are in no bundle, by the beginning of their title. Empty where `contents` or `machineCode` has them. */
const works: Readonly<Record<string, readonly Component[]>> = {
  'Words of phrases, ': [part('pkg:npm/%40scure/bip39@2.4.0', 'MIT', 'words of phrases')],
  'Noto Sans ': [],
  'The colour profile sRGB2014,': [],
  'jq 1.7.1 ': [],
  'Oniguruma, ': [],
};

const packageTitle = /^(?:The declarations of )?(\S+) (\S+), (?:licence |in types\/)/;

/** What works and packages of dist/NOTICE contain. Throws for a work that `works` does not have. */
export function partsOfNotice(notice: string): Component[] {
  const [, ...titles] = notice.split(/^-{78}\n/m).map((section) => section.trim().split('\n', 1)[0] ?? '');
  return titles.flatMap((title) => {
    const [, name] = packageTitle.exec(title) ?? [];
    if (name !== undefined) return inPackages[name] ?? [];
    const known = Object.entries(works).find(([beginning]) => title.startsWith(beginning));
    if (known === undefined)
      throw new Error(`expected the work "${title}" of dist/NOTICE in scripts/sbom.ts`);
    return known[1];
  });
}

/** The contents of all codecs, fonts and profiles in `dist`. Throws for a file that `contents` does not have. */
export function partsOf(dist: string): Component[] {
  const files = globSync('**/*.{wasm,node,ttf,otf,woff,woff2,icc}', { cwd: dist })
    .map((path) => basename(path))
    .sort();
  const unknown = files.filter((file) => contents[file] === undefined);
  if (unknown.length > 0) throw new Error(`expected what ${unknown.join(', ')} contains in scripts/sbom.ts`);
  return files.flatMap((file) => contents[file] ?? []);
}

/** What the machine code of an installed package contains, by the sources and lists that the package has. */
const machineCode: Readonly<Record<string, (folder: string) => Component[]>> = {
  'better-sqlite3': (folder) => {
    const header = readFileSync(join(folder, 'deps/sqlite3/sqlite3.h'), 'utf8');
    const version = /^#define SQLITE_VERSION\s+"([\d.]+)"/m.exec(header)?.[1];
    if (version === undefined) throw new Error(`expected the version of SQLite in ${folder}`);
    return [part(`pkg:generic/sqlite@${version}`, 'blessing', 'the database, in better-sqlite3')];
  },
  // the submodule of jq-web 0.6.2, and the one of that jq
  'jq-web': (folder) => {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    if (version !== '0.6.2')
      throw new Error(`expected jq-web 0.6.2, whose jq scripts/sbom.ts names, got ${version}`);
    return [
      part('pkg:github/jqlang/jq@jq-1.7.1', 'MIT AND ICU', 'the filter of --jq, with decNumber, in jq-web'),
      part(
        'pkg:github/kkos/oniguruma@d2f1a14ced5d5d461acac0da0d477ab240a7ab5f',
        'BSD-2-Clause',
        'regular expressions of jq, in jq-web',
      ),
    ];
  },
  '@napi-rs/keyring': (folder) =>
    [
      ...readFileSync(join(folder, 'LICENSE.third-party.md'), 'utf8').matchAll(
        /^\| ([\w-]+) \| ([\w.+-]+) \| ([^|]+) \|$/gm,
      ),
    ]
      .filter(([, name]) => name !== 'Crate')
      .map(([, name, version, license = '']) =>
        part(`pkg:cargo/${name}@${version}`, license, 'in the module of the keychain, or used to build it'),
      ),
};

/** The contents of machine code in installed packages (folders). Throws for a package that `machineCode` does not have. */
export const machineCodeOf = (folders: readonly string[]): Component[] =>
  folders
    .filter((folder) => globSync('**/*.{node,wasm}', { cwd: folder }).length > 0)
    .flatMap((folder) => {
      const name = folder.replace(/^.*node_modules\//, '');
      const known = Object.entries(machineCode).find(([of]) => name === of || name.startsWith(`${of}-`));
      if (known === undefined) throw new Error(`expected what ${name} contains in scripts/sbom.ts`);
      return known[1](folder);
    });

/** The list as text. `epoch` is its time, in seconds since 1970. */
export function sbom(of: { project: string; epoch: string; nodeVersion: string }): string {
  const { project, epoch, nodeVersion } = of;
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const all = JSON.parse(execFileSync('npm', args, { cwd: project, encoding: 'utf8', maxBuffer: 1 << 28 }));
  const installed = new Set(publishedPackages(project).map((path) => path.replace(/^.*node_modules\//, '')));
  const inBundle = new Set(bundled(project));
  const packages = (all.components as Component[]).filter(
    ({ name, version }) => inBundle.has(`${name}@${version}`) || installed.has(name),
  );
  const listed = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  const missing = [...inBundle].filter((id) => !listed.has(id));
  if (missing.length > 0) throw new Error(`expected ${missing.join(', ')} in package-lock.json`);
  const present = publishedPackages(project)
    .map((path) => join(project, path))
    .filter((path) => existsSync(path));
  const parts = [
    ...partsOf(join(project, 'dist')),
    ...partsOfNotice(readFileSync(join(project, 'dist/NOTICE'), 'utf8')),
    ...machineCodeOf(present),
  ];
  const components = [...packages.map(plain), ...parts, nodeOf(nodeVersion)];
  const component = plain(all.metadata.component);
  const dependencies = [{ ref: component['bom-ref'], dependsOn: components.map((each) => each['bom-ref']) }];
  const timestamp = new Date(Number(epoch) * 1000).toISOString();
  const body = { components, dependencies, metadata: { timestamp, component } };
  const { $schema, bomFormat, specVersion } = all;
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(body))}`;
  return `${JSON.stringify({ $schema, bomFormat, specVersion, serialNumber, version: 1, ...body }, null, 2)}\n`;
}

/** The component without npm's own properties and scope, which speak of the checkout. */
function plain(component: Component): Component {
  const copy: Component & { properties?: unknown; scope?: unknown } = { ...component };
  delete copy.properties;
  delete copy.scope;
  return copy;
}

const nodeOf = (version: string): Component & Record<string, unknown> => ({
  'bom-ref': `node@${version}`,
  type: 'platform',
  name: 'node',
  version,
  description: 'only in the archive for Linux and in the Debian package',
  licenses: [{ license: { id: 'MIT' } }],
  cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:lts:*:*:*`,
});

/** A UUID of version 8 (RFC 9562 section 5.8) from the hash of `text`. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join('-');
}
