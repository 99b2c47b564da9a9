/**
 * MCP servers in the TOML configuration of Codex: tables `[mcp_servers.NAME]` with `command` and `args`. Reads only as much of
 * TOML as it edits, and refuses what it would have to guess. Tested by `test/cli/commands/mcp/wrap.test.ts`.
 */
import type { ServerList, ServerEntry } from './edits.ts';

/** A header or a key with its value; [from, to) without the line break and comments after it. */
interface Statement {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Strings, comments, brackets, line breaks, and anything else, in this order. */
const tokens =
  /"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*|[[\]{}]|\n|[^"'#[\]{}\n]+|["']/g;

/** Cuts the text into statements: a value in brackets can have several lines. */
function statementsIn(text: string): Statement[] {
  const statements: Statement[] = [];
  let depth = 0;
  let from = 0;
  let to = 0;
  const close = (next: number): void => {
    const start = from + (text.slice(from, to).length - text.slice(from, to).trimStart().length);
    const end = start + text.slice(start, to).trimEnd().length;
    if (end > start) statements.push({ from: start, to: end, text: text.slice(start, end) });
    from = to = next;
  };
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (token === '\n' && depth <= 0) close(index + 1);
    else if (!token.startsWith('#')) {
      if (token === '[' || token === '{') depth++;
      else if (token === ']' || token === '}') depth--;
      to = index + token.length;
    } else if (depth <= 0 && to <= from) from = to = index + token.length;
  }
  close(text.length);
  return statements;
}

const header = /^\[\s*mcp_servers\s*\.\s*([A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*')\s*\]$/;
const assignment = /^([A-Za-z0-9_-]+|"(?:\\.|[^"\\])*")\s*=\s*([^]*)$/;

/** Throws SyntaxError for a form that it does not edit. `text` is Latin-1. */
export function serversInToml(text: string): ServerList {
  const tables = new Map<string, Map<string, Statement>>();
  let table: Map<string, Statement> | undefined;
  for (const statement of statementsIn(text)) {
    const [, name] = header.exec(statement.text) ?? [];
    if (statement.text.startsWith('[')) {
      table = name === undefined ? undefined : new Map();
      if (name !== undefined && table !== undefined)
        tables.set(/^["']/.test(name) ? stringIn(name) : name, table);
      continue;
    }
    const [, key = ''] = assignment.exec(statement.text) ?? [];
    table?.set(key, statement);
    if (/^["']?mcp_servers["']?\s*[.=]/.test(statement.text))
      throw new SyntaxError('expected each server as a table [mcp_servers.NAME], got another form');
  }
  const found = [...tables].map(([name, keys]) => ({ name, read: serverIn(text, name, keys) }));
  return {
    servers: found.flatMap(({ read }) => (typeof read === 'string' ? [] : [read])),
    others: found.flatMap(({ name, read }) => (typeof read === 'string' ? [{ name, why: read }] : [])),
  };
}

function serverIn(text: string, name: string, keys: ReadonlyMap<string, Statement>): ServerEntry | string {
  const command = keys.get('command');
  const url = keys.get('url');
  if (command === undefined)
    return url === undefined ? 'it has no command' : `it is at ${stringIn(valueOf(url))}`;
  const args = keys.get('args');
  const words = args === undefined ? [] : stringsIn(valueOf(args));
  const [first, last] = [command, ...(args === undefined ? [] : [args])].toSorted((a, b) => a.from - b.from);
  const from = first?.from ?? command.from;
  const to = (last ?? command).to;
  const rewrite = (other: string, list: readonly string[]): string => {
    const lines = [`command = ${spelled(other)}`, `args = [${list.map(spelled).join(', ')}]`];
    if (args === undefined) return lines.join('\n');
    const middle = text.slice(first?.to, last?.from);
    return (args.from > command.from ? lines : lines.toReversed()).join(middle);
  };
  return { name, command: stringIn(valueOf(command)), args: words, from, to, rewrite };
}

const valueOf = ({ text }: Statement): string => assignment.exec(text)?.[2] ?? '';

/** A basic string of JSON's escapes is one of TOML too. */
const spelled = (value: string): string => Buffer.from(JSON.stringify(value)).toString('latin1');

/** Returns the text of a string in quotes. Escapes that JSON does not have are refused. */
function stringIn(literal: string): string {
  const bytes = Buffer.from(literal, 'latin1').toString();
  if (/^'[^'\n]*'$/.test(bytes)) return bytes.slice(1, -1);
  try {
    const value: unknown = JSON.parse(bytes);
    if (typeof value === 'string') return value;
  } catch {
    // reported below
  }
  throw new SyntaxError(`expected a text in quotes, got ${bytes.slice(0, 64)}`);
}

function stringsIn(list: string): string[] {
  const parts = [...list.matchAll(tokens)].map(([token]) => token).filter((token) => !token.startsWith('#'));
  const strings = parts.filter((token) => /^["']/.test(token));
  const rest = parts.filter((token) => !/^["']/.test(token)).join('');
  if (!/^\[[\s,]*\]$/.test(rest)) throw new SyntaxError(`expected a list of texts, got ${list.slice(0, 64)}`);
  return strings.map(stringIn);
}
