/**
 * Modules that export data alone, the contract's and the table of commands, are built as that data: making the schemas
 * anew takes each process some 10 ms, and loading the library that makes them as much. Only typebox's own marks are lost,
 * which its `Static` types need and nothing at run time. What is long in a table is parsed when it is first asked for.
 * Proved by test/package.test.ts.
 */
import { deepEqual } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'rolldown';

const sources = ['src/contract/*.ts', 'src/cli/commands/by-noun.ts'];

/** What is longer, as JSON, is parsed late in a table, and parsed at all elsewhere. */
const shortChars = { inTable: 200, elsewhere: 2000 };

/** The module that parses late. */
const parser = '\0late-parser';

/** Code that gives the value of a JSON text. */
type Late = (json: string) => string;

/**
 * With what is parsed late in a file beside the code, which is read with the first of it; or, as a library needs it,
 * without one.
 */
export async function frozenData(project: string, { beside }: { beside: boolean }): Promise<Plugin> {
  const places = new Map<string, string>();
  let size = 0;
  const placed: Late = (json) => {
    const place = places.get(json) ?? `${size}, ${(size += Buffer.byteLength(json))}`;
    places.set(json, place);
    return `parsed(${place})`;
  };
  const modules = new Map<string, string>();
  for (const path of globSync(sources, { cwd: project }).sort()) {
    const id = join(project, path);
    const code = frozen(await import(id), beside ? placed : (json) => `parsed(${JSON.stringify(json)})`);
    if (code !== null) modules.set(id, code);
  }
  const source = [...places.keys()].join('');
  // named by its content: places in another one would be those of other values
  const fileName = `data-${createHash('sha256').update(source).digest('hex').slice(0, 8)}.json`;
  return {
    name: 'frozen-data',
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
function frozen(exports: Readonly<Record<string, unknown>>, late: Late): string | null {
  if (!Object.values(exports).every(isData)) return null;
  deepEqual(JSON.parse(JSON.stringify(exports)), structuredClone({ ...exports }));
  const lines = Object.entries(exports).map(
    ([name, value]) =>
      `export const ${name} = ${isTable(value) ? tableCode(value, late) : constantCode(value)};`,
  );
  return [`import { parsed } from '${parser}';`, ...lines].join('\n');
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isData = (value: unknown): boolean =>
  isObject(value) ? Object.values(value).every(isData) : typeof value !== 'function';

const isOperation = (value: object): boolean => 'method' in value;

/** Operations by id, or commands by noun. */
const isTable = (value: unknown): value is Readonly<Record<string, object>> =>
  isObject(value) &&
  !Array.isArray(value) &&
  Object.values(value).every((row) => isObject(row) && (isOperation(row) || Array.isArray(row)));

const tableCode = (rows: Readonly<Record<string, object>>, late: Late): string =>
  objectCode(rows, (id, row) =>
    isOperation(row) ? `${id}: ${operationCode(row, late)}` : memberCode(id, row, late),
  );

const operationCode = (operation: object, late: Late): string =>
  objectCode(operation as Record<string, unknown>, (name, value) => memberCode(name, value, late));

const objectCode = <Value>(
  members: Readonly<Record<string, Value>>,
  code: (name: string, value: Value) => string,
): string =>
  `{ ${Object.entries(members)
    .map(([name, value]) => code(name, value))
    .join(', ')} }`;

function memberCode(name: string, value: unknown, late: Late): string {
  const json = JSON.stringify(value);
  return json.length > shortChars.inTable ? `get ${name}() { return ${late(json)}; }` : `${name}: ${json}`;
}

/** Short ones as code, of which the bundler reads constants; parsing a long one is quicker. */
function constantCode(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length > shortChars.elsewhere ? `/* @__PURE__ */ JSON.parse(${JSON.stringify(json)})` : json;
}
