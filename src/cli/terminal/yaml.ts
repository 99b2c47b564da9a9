/**
 * YAML 1.2 for people: block style; every text that is not a plain word is in double quotes, with JSON escapes. The code
 * recurses: responses nest at most `limits.jsonDepth`. The package `yaml` has 186 KiB and takes 11 ms to load.
 * Tested by `test/cli/terminal/out.test.ts`.
 */
import { Safe } from './safe.ts';

const plain = /^[A-Za-z_][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$/;
const reserved = /^(true|false|null|yes|no|on|off|y|n)$/i;

/** One value without members, on one line: no two of them look alike. */
export function scalar(value: unknown): Safe {
  if (typeof value !== 'string') return Safe.json(value);
  return plain.test(value) && !reserved.test(value) ? Safe.cell(value) : Safe.json(value);
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

/** Lines without newlines at their ends. Undefined members have no line. */
export function yamlLines(value: unknown, indent = ''): Safe[] {
  if (typeof value !== 'object' || value === null) return [Safe.join([Safe.cell(indent), scalar(value)], '')];
  if (isEmpty(value)) return [Safe.cell(`${indent}${Array.isArray(value) ? '[]' : '{}'}`)];
  return Array.isArray(value)
    ? value.flatMap((item: unknown) => listItem(item, indent))
    : Object.entries(value).flatMap(([key, member]) => mapMember(key, member, indent));
}

function mapMember(key: string, member: unknown, indent: string): Safe[] {
  if (member === undefined) return [];
  const head = Safe.join([Safe.cell(indent), scalar(key), Safe.cell(':')], '');
  if (typeof member !== 'object' || member === null || isEmpty(member)) {
    return [Safe.join([head, ...yamlLines(member)], ' ')];
  }
  return [head, ...yamlLines(member, `${indent}  `)];
}

function listItem(item: unknown, indent: string): Safe[] {
  const [first, ...rest] = yamlLines(item, `${indent}  `);
  // "  - " replaces the last two blanks of the first line
  const begun = String(first ?? '').slice(indent.length + 2);
  return [Safe.clean(`${indent}- ${begun}`), ...rest];
}
