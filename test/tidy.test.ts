/**
 * The rules of the source tree: which folder may import which, how long files and functions may be, how folders and
 * files are named. An edge that is missing here is a decision: add it in a commit of its own, with the reason.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { type ESTree, parseSync, Visitor } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';
import { projectRoot } from './paths.ts';

const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 70;

/** Folder → what its files may import; a name that ends in / or : stands for all below it. `lazy` only by import(). */
const law: Readonly<Record<string, { readonly may: readonly string[]; readonly lazy?: readonly string[] }>> =
  {
    'src/contract/': { may: ['typebox'] },
    // What every floor with files of its own needs of the system.
    'src/files/': { may: ['node:'] },
    // Reading protobuf's wire format is someone else's solved problem, and pure: OTLP files and requests need it.
    // Setting text into PDF is one too, and a report's verifier must render it again; only a report pays for loading it. zlib computes too: it opens what a PDF has compressed.
    // So is the calendar of cron expressions through every change of daylight saving time.
    'src/core/reports/pdf/pdfkit.ts': { may: ['pdfkit'] },
    'src/core/': {
      may: ['src/contract/', 'node:crypto', 'node:zlib', '@bufbuild/protobuf', 'croner'],
      lazy: ['pdfkit', 'uqr', 'd3-shape'],
    },
    'src/store/': {
      may: ['src/contract/', 'src/core/', 'src/files/', 'better-sqlite3', 'pg', 'node:'],
    },
    // Handlers know the store by its port alone, so that one engine can stand in for the other.
    'src/service/': {
      may: ['src/contract/', 'src/core/', 'src/store/port/store.ts', 'typebox', 'node:'],
      lazy: ['ajv'],
    },
    // Parses bodies with core's exact JSON and hands rows of the port on; opens no store.
    'src/http/': {
      may: [
        'src/contract/',
        'src/core/',
        'src/service/',
        'src/store/port/store.ts',
        'fastify',
        '@fastify/',
        'ajv',
        'typebox',
        'ws',
        'node:',
      ],
    },
    // Stands in for Node where there is none: hashes and signatures of @noble, and a Buffer.
    'src/client/web/': { may: ['src/client/', '@noble/', 'buffer', 'fflate'] },
    'src/client/': {
      may: ['src/contract/', 'src/core/', 'src/files/', 'ws', 'node:'],
      lazy: ['better-sqlite3'],
    },
    // Only open.ts and shell.ts need them; the build makes a module of its own of these two.
    'src/cli/screens/': {
      may: ['src/cli/', 'src/contract/', 'src/core/', 'src/client/', 'ink', 'react', 'node:'],
    },
    // Commands that serve or open a store load host and plane when they run: the others must not pay for them.
    'src/cli/': {
      may: [
        'src/contract/',
        'src/core/',
        'src/files/',
        'src/client/',
        '@napi-rs/keyring',
        'commander',
        'conf',
        'execa',
        'ajv',
        'csv-parse',
        'get-east-asian-width',
        'oauth4webapi',
        'smol-toml',
        'node:',
      ],
      lazy: ['src/host/', 'plane/'],
    },
    // A certified client judges identity providers. The payment provider's SDK is 100 ms of parsing for one route that few call, and few installations send mail.
    'src/host/': {
      may: ['src/', 'ajv', 'jose', 'oauth4webapi', 'typebox', 'pino', 'prom-client', 'node:'],
      lazy: ['stripe', 'nodemailer', '@jsquash/', 'aws4fetch'],
    },
    // A page in a browser: it shows what the public API answers, through the client library.
    'src/console/': { may: ['src/contract/', 'src/core/', 'src/client/', 'preact', 'd3-shape'] },
    // A page in a browser around the verifier, in one file.
    'src/verify-page/': { may: ['src/contract/', 'src/core/', 'src/client/'] },
    'plane/': { may: ['src/', 'ajv', 'typebox', 'pino', 'node:'] },
  };
/** The one file whose import() may compute a name: a command's file follows from its name. */
const mayComputeImports = 'src/cli/commands/loaders.ts';
/** These never import it, whatever stands above. */
const neverCli = new Set(['src/host/', 'plane/']);

const covers = (names: readonly string[], name: string): boolean =>
  names.some((each) => each === name || (/[/:]$/.test(each) && name.startsWith(each)));

/** What is wrong with one file, in sentences; `path` is relative to the project. */
function faults(path: string, source: string): string[] {
  const found: string[] = [];
  const { program, errors } = parseSync(path, source);
  for (const error of errors) found.push(`${path}: ${error.message}`);
  const ends = [...source.matchAll(/\n/g)].map(({ index }) => index);
  const lineOf = (offset: number): number => {
    const at = ends.findIndex((end) => end >= offset);
    return (at < 0 ? ends.length : at) + 1;
  };
  if (lineOf(source.trimEnd().length) > MAX_FILE_LINES)
    found.push(`${path}: more than ${MAX_FILE_LINES} lines`);

  const folder = Object.keys(law).find((each) => path.startsWith(each));
  const checkImport = (specifier: string, isLazy: boolean): void => {
    if (folder === undefined) return;
    const { may, lazy = [] } = law[folder]!;
    const bare = /^(?:node:.*|(?:@[^/]+\/)?[^/]+)/.exec(specifier)?.[0] ?? specifier;
    const name = specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : bare;
    const allowed = isLazy ? [...may, ...lazy] : may;
    const forbidden = neverCli.has(folder) && name.startsWith('src/cli/');
    if (!name.startsWith(folder) && (forbidden || !covers(allowed, name))) {
      found.push(
        `${path}: ${folder} may not import ${name}${isLazy || !covers(lazy, name) ? '' : ' but by import()'}`,
      );
    }
  };
  const containers = new Set<unknown>();
  const checkLength = (node: ESTree.Function | ESTree.ArrowFunctionExpression): void => {
    const lines = lineOf(node.end) - lineOf(node.start) + 1;
    if (lines <= MAX_FUNCTION_LINES || containers.has(node)) return;
    found.push(`${path}:${lineOf(node.start)}: a function of ${lines} lines, at most ${MAX_FUNCTION_LINES}`);
  };
  new Visitor({
    ImportDeclaration: (node) => checkImport(node.source.value, false),
    ExportAllDeclaration: (node) => checkImport(node.source.value, false),
    ExportNamedDeclaration: (node) => node.source && checkImport(node.source.value, false),
    TSImportType: (node) => checkImport(node.source.value, false),
    ImportExpression: (node) => {
      if (node.source.type === 'Literal' && typeof node.source.value === 'string') {
        checkImport(node.source.value, true);
      } else if (folder !== undefined && path !== mayComputeImports)
        found.push(`${path}: import() of a name that is not a literal`);
    },
    // A describe() block is a heading, not a function.
    CallExpression: (node) => {
      const callee = source.slice(node.callee.start, node.callee.end);
      if (/^describe\b/.test(callee)) for (const each of node.arguments) containers.add(each);
    },
    FunctionDeclaration: checkLength,
    FunctionExpression: checkLength,
    ArrowFunctionExpression: checkLength,
  }).visit(program);
  return found;
}

const MAX_FOLDER_FILES = 25;
/** Its files are one for each tag of the interface. */
const largeFolders = new Set(['src/contract']);

const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/s$/, '');

/** The file of a command of one word is `run.ts`, also that of `gov run`. */
const oneWordRun = 'src/cli/commands/run/run.ts';

/** Whether a word of the file's name is the name of its folder, in either number. */
function repeatsFolder(path: string): boolean {
  if (path === oneWordRun) return false;
  const folder = singular(posix.basename(posix.dirname(path)));
  const words = posix.basename(path).split('.')[0]!.split('-');
  return words.some((word) => singular(word) === folder);
}

describe('the source tree', () => {
  const files = globSync(['src/**/*.{ts,tsx}', '{plane,test,scripts,bench,examples}/**/*.ts'], {
    cwd: projectRoot,
  }).map((path) => path.replaceAll('\\', '/'));
  const sources = new Map(files.map((path) => [path, readFileSync(`${projectRoot}/${path}`, 'utf8')]));

  it('every source file respects the allowed imports between folders and the limits on length', () => {
    expect(files.length).toBeGreaterThan(40);
    expect([...sources].flatMap(([path, source]) => faults(path, source))).toEqual([]);
  });

  it('private members are private at run time too, with #', () => {
    const found = [...sources].flatMap(([path, source]) =>
      [...source.matchAll(/^ +private (?!constructor\b).*/gm)].map(([line]) => `${path}: ${line.trim()}`),
    );
    expect(found).toEqual([]);
  });

  it('every folder has at most 25 files', () => {
    const counts = Map.groupBy(files, (path) => posix.dirname(path));
    const full = [...counts].filter(
      ([folder, { length }]) => length > MAX_FOLDER_FILES && !largeFolders.has(folder),
    );
    expect(
      full.map(([folder, { length }]) => `${folder}: ${length} files`),
      'a full folder is split by subject, into folders below or beside it',
    ).toEqual([]);
  });

  it('no file has a name that repeats its folder', () => {
    expect(files.filter(repeatsFolder)).toEqual([]);
  });

  it('comments name only tests, documents and contract rows that exist', () => {
    const rows = new Set(
      [...readFileSync(`${projectRoot}/docs/design/contract.md`, 'utf8').matchAll(/^\| ([A-Z]\d+) \|/gm)].map(
        ([, row]) => row,
      ),
    );
    expect(rows.size).toBeGreaterThan(100);
    const missing = [...sources].flatMap(([path, source]) => {
      const comments = (source.match(/\/\*\*[^]*?\*\/|\/\/.*/g) ?? []).join('\n');
      const named = comments.match(/\b(?:test|docs)\/[\w./-]+\.(?:ts|md|py)\b/g) ?? [];
      const cited = [...comments.matchAll(/\bcontract ((?:[A-Z]\d+(?:-[A-Z]?\d+)?(?:, | and )?)+)/g)].flatMap(
        ([, list = '']) => list.match(/[A-Z]\d+/g) ?? [],
      );
      return [
        ...named.filter((each) => !existsSync(`${projectRoot}/${each}`)).map((each) => `${path}: ${each}`),
        ...cited.filter((row) => !rows.has(row)).map((row) => `${path}: contract ${row}`),
      ];
    });
    expect(missing).toEqual([]);
  });
});

describe('the rules of the source tree', () => {
  const lines = (count: number): string => '\n'.repeat(count);

  it.each([
    ['a file in core', 'src/core/a.ts', "import { readFileSync } from 'node:fs';"],
    ['a type of the store in core', 'src/core/a.ts', "import type { Store } from '../store/port.ts';"],
    ['http passed on by core', 'src/core/a.ts', "export * from '../http/route.ts';"],
    ['an import type in core', 'src/core/a.ts', "type Store = import('../store/port.ts').Store;"],
    ['core in the contract', 'src/contract/a.ts', "import { hash } from '../core/hash.ts';"],
    ['Fastify in a handler', 'src/service/a.ts', "import Fastify from 'fastify';"],
    ['an engine in a handler', 'src/service/a.ts', "import { open } from '../store/sqlite/open.ts';"],
    ['SQLite in http', 'src/http/a.ts', "import Database from 'better-sqlite3';"],
    ['the plane loaded with every command', 'src/cli/a.ts', "import { serve } from '../../plane/serve.ts';"],
    ['http in a command, even late', 'src/cli/a.ts', "const serve = () => import('../http/serve.ts');"],
    ['the command line in host', 'src/host/a.ts', "import { main } from '../cli/main.ts';"],
    ['import() of any name', 'plane/a.ts', 'const load = (name: string) => import(name);'],
    [
      'import() of any name in a command',
      'src/cli/commands/a.ts',
      'const load = (name: string) => import(name);',
    ],
    ['a long file', 'src/core/a.ts', `${lines(MAX_FILE_LINES)}const a = 1;`],
    ['a long method', 'test/a.ts', `class A {\n  b() {${lines(MAX_FUNCTION_LINES)}}\n}`],
  ])('the rules refuse %s', (_, path, source) => {
    expect(faults(path, source)).toHaveLength(1);
  });

  it.each([
    ['src/core/merkle/merkle-tree.ts', true],
    ['src/service/exports/export-job.ts', true],
    ['src/core/merkle/tree.ts', false],
    ['test/store/file/filesystem.test.ts', false],
  ])('the rules decide whether the name of %s repeats its folder', (path, repeats) => {
    expect(repeatsFolder(path)).toBe(repeats);
  });

  it.each([
    [
      'the plane loaded by its command',
      'src/cli/a.ts',
      "const serve = () => import('../../plane/serve.ts');",
    ],
    [
      'a sibling and node:crypto in core',
      'src/core/a.ts',
      "import { b } from './b.ts';\nimport 'node:crypto';",
    ],
    ['the file of a command', mayComputeImports, 'const load = (name: string) => import(name);'],
    ['http in the plane', 'plane/a.ts', "import { serve } from '../src/http/execute.ts';"],
    ['a file of just the length', 'src/core/a.ts', `${lines(MAX_FILE_LINES - 1)}const a = 1;`],
    ['a long describe()', 'test/a.ts', `describe.skipIf(1)('a', () => {${lines(MAX_FUNCTION_LINES)}});`],
  ])('the rules accept %s', (_, path, source) => {
    expect(faults(path, source)).toEqual([]);
  });
});
