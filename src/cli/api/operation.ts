/** Finds the operation of a method and path. Tested by `test/cli/commands/api/run.test.ts`. */
import type { Operation } from '../../contract/operation.ts';
import { table } from '../../contract/table.ts';
import type { OperationId } from '../../contract/table.ts';
import { usage } from '../program/exit.ts';

export interface FoundOperation {
  readonly id: OperationId;
  readonly row: Operation;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

// the keys come from the table
const rows = (): [OperationId, Operation][] => Object.entries<Operation>(table) as [OperationId, Operation][];

/** Errors: exit 2 for a path that the interface does not have, with the nearest ones. */
export function operationAt(method: string, address: string): FoundOperation {
  const [path = '', search = ''] = address.split('?', 2);
  const given = `/${path.replace(/^\/+/, '')}`;
  const matching = rows().flatMap(([id, row]) => {
    const params = paramsIn(row.path, given);
    return params === null ? [] : [{ id, row, params }];
  });
  // a fixed segment wins over a parameter: /exports/estimate is no export
  const [found] = matching
    .filter(({ row }) => row.method === method)
    .sort((one, other) => Object.keys(one.params).length - Object.keys(other.params).length);
  if (found !== undefined) return { ...found, query: Object.fromEntries(new URLSearchParams(search)) };
  if (matching.length > 0) {
    const methods = [...new Set(matching.map(({ row }) => row.method))].join(', ');
    throw usage(`${given}: expected ${methods}, got ${JSON.stringify(method.slice(0, 32))}`);
  }
  throw usage(
    `expected a path of the interface, got ${JSON.stringify(given.slice(0, 128))}`,
    `did you mean ${nearest(method, given).join(' or ')}? docs/reference/http.md lists all`,
  );
}

/** Returns the parameters if the path has the shape of the template, else null. */
function paramsIn(template: string, path: string): Record<string, string> | null {
  const names: string[] = [];
  const pattern = template.replace(/\{([^}]+)\}|\*|[.$()+?[\]^|\\]/g, (part, name: string | undefined) => {
    if (name === undefined && part !== '*') return `\\${part}`;
    names.push(name ?? part);
    return name === undefined ? '(.+)' : '([^/]+)';
  });
  const match = new RegExp(`^${pattern}$`).exec(path);
  if (match === null) return null;
  return Object.fromEntries(names.map((name, at) => [name, decoded(match[at + 1] ?? '')]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw usage(`expected a path with valid percent signs, got ${JSON.stringify(text.slice(0, 64))}`);
  }
}

/** The three operations whose paths are most like the given one. Those with the same method come first. */
function nearest(method: string, path: string): string[] {
  const ranked = rows().map(([, row]) => ({
    text: `${row.method} ${row.path}`,
    cost: distance(path, filled(row.path, path)) + (row.method === method ? 0 : 0.5),
  }));
  ranked.sort((one, other) => one.cost - other.cost);
  return ranked.slice(0, 3).map(({ text }) => text);
}

/** The template with the given path's segments as parameters, so that an id costs nothing. */
function filled(template: string, path: string): string {
  const segments = path.split('/');
  return template
    .split('/')
    .map((segment, at) => (segment.startsWith('{') ? (segments[at] ?? segment) : segment))
    .join('/');
}

/** Levenshtein's distance. Cost: the product of the lengths. */
function distance(one: string, other: string): number {
  let before = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [row, character] of Array.from(one.slice(0, 128)).entries()) {
    const now = [row + 1];
    for (const [at, wanted] of [...other].entries()) {
      const change = (before[at] ?? 0) + (character === wanted ? 0 : 1);
      now.push(Math.min(change, (before[at + 1] ?? 0) + 1, (now[at] ?? 0) + 1));
    }
    before = now;
  }
  return before.at(-1) ?? 0;
}
