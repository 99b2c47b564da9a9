/**
 * The contract as the JSON that it is: making its schemas anew takes each process some 10 ms, and so does loading the
 * library that makes them. Modules of src/contract that export data alone are built as that data; only typebox's own
 * marks are lost, which its `Static` types need and nothing at run time. The schemas of operations, which are most of it,
 * are parsed when they are first asked for. Proved by test/package.test.ts.
 */
import { deepEqual } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'rolldown';

/** A member of an operation that is longer, as JSON, is parsed late. */
const shortChars = 200;

/** The module that parses them. */
const parser = '\0contract-parser';

/** Code that gives the value of a JSON text. */
type Parse = (json: string) => string;

/**
 * With the schemas of operations in a file beside the code, which the first one that is asked for reads; or, as a library
 * needs it, without one.
 */
export async function frozenContract(project: string, { beside }: { beside: boolean }): Promise<Plugin> {
  const places = new Map<string, string>();
  let size = 0;
  const placed: Parse = (json) => {
    const place = places.get(json) ?? `${size}, ${(size += Buffer.byteLength(json))}`;
    places.set(json, place);
    return `parsed(${place})`;
  };
  const modules = new Map<string, string>();
  for (const path of globSync('src/contract/*.ts', { cwd: project }).sort()) {
    const id = join(project, path);
    const code = frozenModule(
      await import(id),
      beside ? placed : (json) => `parsed(${JSON.stringify(json)})`,
    );
    if (code !== null) modules.set(id, code);
  }
  const source = [...places.keys()].join('');
  // named by its content: places in another one would be those of other schemas
  const fileName = `contract-${createHash('sha256').update(source).digest('hex').slice(0, 8)}.json`;
  return {
    name: 'frozen-contract',
    buildStart() {
      if (beside) this.emitFile({ type: 'asset', fileName, source });
    },
    resolveId: (id) => (id === parser ? id : null),
    load: (id) => (id === parser ? parserOf(beside ? fileName : null) : modules.get(id)),
  };
}

function parserOf(fileName: string | null): string {
  const kept = `
    const values = new Map();
    const kept = (key, text) => {
      if (!values.has(key)) values.set(key, JSON.parse(text()));
      return values.get(key);
    };`;
  if (fileName === null) return `${kept} export const parsed = (json) => kept(json, () => json);`;
  return `
    import { readFileSync } from 'node:fs';
    import { join } from 'node:path';
    ${kept}
    let file;
    const read = () => (file ??= readFileSync(join(import.meta.dirname, '${fileName}')));
    export const parsed = (start, end) => kept(start, () => read().toString('utf8', start, end));`;
}

/** Code of a module with these exports; null where one of them is not data. */
function frozenModule(exports: Readonly<Record<string, unknown>>, parse: Parse): string | null {
  if (!Object.values(exports).every(isData)) return null;
  deepEqual(JSON.parse(JSON.stringify(exports)), structuredClone({ ...exports }));
  const lines = Object.entries(exports).map(([name, value]) => {
    const code = isOperations(value) ? frozenRows(value, parse) : constant(value);
    return `export const ${name} = ${code};`;
  });
  return [`import { parsed } from '${parser}';`, ...lines].join('\n');
}

const isData = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).every(isData)
    : typeof value !== 'function';

const isOperations = (value: unknown): value is Readonly<Record<string, object>> =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((row) => typeof row === 'object' && row !== null && 'method' in row);

/** Short ones as code, of which the bundler reads constants; parsing a long one is quicker. */
function constant(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length > 2000 ? `/* @__PURE__ */ JSON.parse(${JSON.stringify(json)})` : json;
}

function frozenRows(rows: Readonly<Record<string, object>>, parse: Parse): string {
  const members = (row: object) =>
    Object.entries(row).map(([name, value]) => {
      const json = JSON.stringify(value);
      return json.length > shortChars ? `get ${name}() { return ${parse(json)}; }` : `${name}: ${json}`;
    });
  return `{ ${Object.entries(rows)
    .map(([id, row]) => `${id}: { ${members(row).join(', ')} }`)
    .join(',\n')} }`;
}
