/**
 * Edits of a client's configuration, as replacements of text: all other bytes stay. What was replaced is kept beside the
 * file, so that it can be put back, also after someone edited other parts. Texts here are Latin-1, one character a byte.
 * Tested by `test/cli/commands/mcp/wrap.test.ts`.
 */
import { isObject } from '../../../core/json/object.ts';

/** A server of a configuration that starts a command. [from, to) is what to replace. */
export interface ServerEntry {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly from: number;
  readonly to: number;
  /** The text in place of [from, to) for another command. */
  readonly rewrite: (command: string, args: readonly string[]) => string;
}

export interface ServerList {
  readonly servers: readonly ServerEntry[];
  /** Servers that start no command, with the reason. */
  readonly others: readonly { readonly name: string; readonly why: string }[];
}

export interface Edit {
  readonly name: string;
  readonly from: number;
  readonly before: string;
  readonly after: string;
}

export const applied = (text: string, edits: readonly Edit[]): string => {
  let result = '';
  let at = 0;
  for (const { from, before, after } of edits.toSorted((a, b) => a.from - b.from)) {
    result += text.slice(at, from) + after;
    at = from + before.length;
  }
  return result + text.slice(at);
};

/** The edits in the form of the file beside the configuration. */
export const kept = (edits: readonly Edit[]): string =>
  `${JSON.stringify({ format: 'gov-mcp-wrap/1', edits: edits.map(({ name, before, after }) => ({ name, before, after })) }, null, 2)}\n`;

/** Returns the reverse edits, where their texts are now; `lost` names those whose text is gone. */
export function reversed(text: string, saved: string): { readonly edits: Edit[]; readonly lost: string[] } {
  const value: unknown = JSON.parse(saved);
  const list = isObject(value) && value['format'] === 'gov-mcp-wrap/1' ? value['edits'] : undefined;
  if (!Array.isArray(list)) throw new SyntaxError('expected the format gov-mcp-wrap/1');
  const edits: Edit[] = [];
  const lost: string[] = [];
  let at = 0;
  for (const entry of list) {
    const { name, before, after } = isObject(entry) ? entry : {};
    if (typeof name !== 'string' || typeof before !== 'string' || typeof after !== 'string')
      throw new SyntaxError('expected edits with name, before and after');
    const found = text.indexOf(after, at);
    if (found < 0) lost.push(name);
    else {
      edits.push({ name, from: found, before: after, after: before });
      at = found + after.length;
    }
  }
  return { edits, lost };
}

/** The changed lines, as `-` and `+`. */
export function diffLines(text: string, { from, before, after }: Edit): string[] {
  const start = text.lastIndexOf('\n', from - 1) + 1;
  const found = text.indexOf('\n', from + before.length);
  const end = found < 0 ? text.length : found;
  const old = text.slice(start, end);
  const fresh = text.slice(start, from) + after + text.slice(from + before.length, end);
  return [...old.split('\n').map((line) => `-${line}`), ...fresh.split('\n').map((line) => `+${line}`)];
}
