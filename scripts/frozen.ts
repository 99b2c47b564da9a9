/**
 * Builds modules that export only data, the contract and the table of commands, as that data. Without it, each process
 * would need some 10 ms to compute the schemas and as much to load their library: a command starts in 57 ms instead of
 * 104 ms. The data lacks only typebox's symbols, which its `Static` types need and run-time code does not. Long values are
 * parsed on first use. Tested by `test/package.test.ts`.
 */
import { deepEqual } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'rolldown';

const sources = ['src/contract/*.ts', 'src/cli/specs/by-noun.ts'];

/** JSON of at most this length becomes code. Longer JSON is parsed: in a table on first use, elsewhere at once. */
const shortChars = { inTable: 200, elsewhere: 2000 };

/** Id of the module that parses on first use. */
const parser = '\0late-parser';

/** Returns code for the value of a JSON text. */
type Late = (json: string) => string;

/** Members of an operation that only servers and the command line read. */
const ofServers = new Set(['params', 'query', 'body', 'summary', 'command', 'statuses', 'tag']);

/**
 * With `beside`, long values are in a file beside the code, read on first use. A library is one file, and has no schemas:
 * its client sends what its types allow, and the service checks.
 */
export async function frozenData(project: string, { beside }: { beside: boolean }): Promise<Plugin> {
  const positions = new Map<string, string>();
  let size = 0;
  const positioned: Late = (json) => {
    const position = positions.get(json) ?? `${size}, ${(size += Buffer.byteLength(json))}`;
    positions.set(json, position);
    return `parsed(${position})`;
  };
  const modules = new Map<string, string>();
  for (const path of globSync(sources, { cwd: project }).sort()) {
    const id = join(project, path);
    const exports: Readonly<Record<string, unknown>> = await import(id);
    const code = beside ? frozen(exports, positioned) : frozen(withoutSchemas(exports), inCode);
    if (code !== null) modules.set(id, code);
  }
  const source = [...positions.keys()].join('');
  // named by its content, because the code refers to positions in it
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

const inCode: Late = (json) => `parsed(${JSON.stringify(json)})`;

/** The same exports; their tables of operations keep only what a client reads. */
const withoutSchemas = (exports: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  mapped(exports, (value) =>
    isTable(value) ? mapped(value, (row) => (isObject(row) && isOperation(row) ? callOf(row) : row)) : value,
  );

function callOf(row: object): object {
  const kept = Object.entries(row).filter(([name]) => !ofServers.has(name));
  return mapped(Object.fromEntries(kept), (value, name) =>
    name === 'success' ? mapped(value as object, bodyKind) : value,
  );
}

/** Whether a success has no body, or one that is not JSON. */
const bodyKind = (success: unknown): unknown =>
  isObject(success) && ('empty' in success || 'mediaType' in success) ? success : {};

const mapped = (
  members: object,
  change: (value: unknown, name: string) => unknown,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value, name)]));

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

/** Returns the code of a module with these exports; null if one of them is not data. */
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

/** Recognises operations by id, and commands by noun. */
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
  // quoted: a noun may have a hyphen
  const key = JSON.stringify(name);
  return json.length > shortChars.inTable ? `get ${key}() { return ${late(json)}; }` : `${key}: ${json}`;
}

/** A short value is code, so that the bundler can inline it; a long value loads faster through JSON.parse. */
function constantCode(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length > shortChars.elsewhere ? `/* @__PURE__ */ JSON.parse(${JSON.stringify(json)})` : json;
}
