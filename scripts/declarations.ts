/**
 * Type declarations of the client library for programs with type checks: dist/types. They refer to the
 * contract's schemas, so the declarations of typebox are copied too: the package depends only on native code.
 * Proven by `test/package.test.ts`, which compiles a program against them.
 */
import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';

/**
 * Writes `folder`/types from `sources`, paths relative to `project`. Throws the output of tsc where it does not
 * compile.
 */
export async function declarations(
  project: string,
  sources: readonly string[],
  folder: string,
): Promise<void> {
  const types = join(folder, 'types');
  const config = join(folder, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: join(project, 'src'),
    outDir: types,
  };
  const settings = {
    extends: '../tsconfig.json',
    compilerOptions,
    include: [],
    files: sources.map((source) => join(project, source)),
  };
  writeFileSync(config, JSON.stringify(settings));
  try {
    const compiler = join(project, 'node_modules/typescript/bin/tsc');
    await promisify(execFile)(process.execPath, [compiler, '-p', config]);
  } catch (cause) {
    const said = cause instanceof Error && 'stdout' in cause ? cause.stdout : cause;
    throw new Error(`expected ${sources.join(' and ')} to compile, got:\n${said}`, { cause });
  } finally {
    rmSync(config);
  }
  const needed = reachable(
    sources.map((source) => join(types, source.replace(/^src\/(.*)\.ts$/, '$1.d.ts'))),
    'ts',
  );
  for (const file of globSync(`${types}/**/*.d.ts`)) {
    if (needed.has(file)) writeFileSync(file, withoutNode(readFileSync(file, 'utf8')));
    else rmSync(file);
  }
  const typebox = join(project, 'node_modules/typebox/build');
  for (const file of reachable([join(typebox, 'index.d.mts')], 'mjs')) {
    const copy = join(types, 'typebox', relative(typebox, file));
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(file, copy);
  }
}

const specifiers = {
  ts: /\b(?:from|import\()\s*(["'])(\.[^"']+)\.ts\1/g,
  mjs: /\b(?:from|import\()\s*(["'])(\.[^"']+)\.mjs\1/g,
};

/** The declarations that these refer to, themselves included. `kind`: of the specifiers. */
function reachable(entries: readonly string[], kind: keyof typeof specifiers): ReadonlySet<string> {
  const found = new Set(entries);
  const extension = kind === 'ts' ? '.d.ts' : '.d.mts';
  for (const file of found) {
    for (const [, , specifier = ''] of readFileSync(file, 'utf8').matchAll(specifiers[kind]))
      found.add(join(dirname(file), `${specifier}${extension}`));
  }
  return found;
}

/**
 * A program without @types/node, such as one for a browser, compiles too, even if it checks the declarations of its
 * libraries: a Buffer is a Uint8Array there, and an agent of node:http any object.
 */
const withoutNode = (text: string): string =>
  text
    .replaceAll(/(["'])typebox\1/g, "'../typebox/index.mjs'")
    .replaceAll(/\bBuffer(?:<\w+>)?(?=[^\w'`])/g, 'Uint8Array')
    .replaceAll(/^import type \{ (\w+) \} from 'node:\w+';$/gm, 'type $1 = object;')
    .replaceAll(/^import \{ type (\w+) \} from 'node:\w+';$/gm, 'type $1 = object;');
