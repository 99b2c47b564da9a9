/**
 * YAML 1.2 for people: block style, and every text that is not plainly a word in double quotes, whose JSON
 * escapes YAML shares. Written without recursion limits in mind: answers nest at most `limits.jsonDepth`.
 * `test/cli/terminal/out.test.ts` holds samples.
 */
import { Safe } from './safe.ts';

const plain = /^[A-Za-z_][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$/;
const reserved = /^(true|false|null|yes|no|on|off|y|n)$/i;

function scalar(value: unknown): Safe {
  if (typeof value !== 'string') return Safe.json(value);
  return plain.test(value) && !reserved.test(value) ? Safe.cell(value) : Safe.json(value);
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

/** Lines without newlines at their ends; no line for undefined members. */
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
  // "  - " takes the place of the first line's last two blanks
  const begun = String(first ?? '').slice(indent.length + 2);
  return [Safe.clean(`${indent}- ${begun}`), ...rest];
}
