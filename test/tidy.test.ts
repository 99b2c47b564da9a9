/**
 * The law of the source tree: which folder may import what, and how long files and functions may be. An edge
 * that is missing here is a decision: add it in a commit of its own, with the reason.
 */
import { globSync, readFileSync } from 'node:fs';
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
    'src/core/': { may: ['src/contract/', 'node:crypto'] },
    'src/store/': { may: ['src/contract/', 'src/core/', 'better-sqlite3', 'pg', 'node:'] },
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
    'src/client/': { may: ['src/contract/', 'src/core/', 'ws', 'node:'] },
    // Commands that serve or open a store load host and plane when they run: the others must not pay for them.
    'src/cli/': {
      may: [
        'src/contract/',
        'src/core/',
        'src/client/',
        'commander',
        'ajv',
        'csv-parse',
        'oauth4webapi',
        'node:',
      ],
      lazy: ['src/host/', 'plane/'],
    },
    // The payment provider's SDK is 100 ms of parsing for one route that few call.
    'src/host/': {
      may: ['src/', 'ajv', 'jose', 'typebox', 'pino', 'prom-client', 'node:'],
      lazy: ['stripe'],
    },
    'plane/': { may: ['src/', 'ajv', 'typebox', 'pino', 'node:'] },
  };
/** These never import it, whatever stands above. */
const neverCli = new Set(['src/host/', 'plane/']);

const covers = (names: readonly string[], name: string): boolean =>
  names.some((each) => each === name || (/[/:]$/.test(each) && name.startsWith(each)));

/** What is wrong with one file, in sentences; `path` is relative to the project. */
function faults(path: string, source: string): string[] {
  const found: string[] = [];
  const { program, errors } = parseSync(path, source);
  for (const error of errors) found.push(`${path}: ${error.message}`);
  const lineOf = (offset: number): number => source.slice(0, offset).split('\n').length;
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
      } else if (folder !== undefined) found.push(`${path}: import() of a name that is not a literal`);
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

describe('the source tree', () => {
  const files = globSync(['src/**/*.ts', '{plane,test,scripts,bench,examples}/**/*.ts'], {
    cwd: projectRoot,
  });

  it('keeps the edges between folders and the caps on length', () => {
    expect(files.length).toBeGreaterThan(40);
    expect(
      files.flatMap((path) =>
        faults(path.replaceAll('\\', '/'), readFileSync(`${projectRoot}/${path}`, 'utf8')),
      ),
    ).toEqual([]);
  });
});

describe('the law itself', () => {
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
    ['a long file', 'src/core/a.ts', `${lines(MAX_FILE_LINES)}const a = 1;`],
    ['a long method', 'test/a.ts', `class A {\n  b() {${lines(MAX_FUNCTION_LINES)}}\n}`],
  ])('refuses %s', (_, path, source) => {
    expect(faults(path, source)).toHaveLength(1);
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
    ['http in the plane', 'plane/a.ts', "import { serve } from '../src/http/execute.ts';"],
    ['a file of just the length', 'src/core/a.ts', `${lines(MAX_FILE_LINES - 1)}const a = 1;`],
    ['a long describe()', 'test/a.ts', `describe.skipIf(1)('a', () => {${lines(MAX_FUNCTION_LINES)}});`],
  ])('accepts %s', (_, path, source) => {
    expect(faults(path, source)).toEqual([]);
  });
});
