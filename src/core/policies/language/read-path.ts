/**
 * Paths of a read-set (`read-set.ts`), and which paths cover others. Spelling: `context.tool.name`, `context["a.b"]` for a
 * name that is not an identifier, `[0]` for an index, `[*]` for every item of a list, `$` for the whole policy input. A `?`
 * at the end: only presence and kind are read, as by `exists`. Proven by `test/core/policies/language/read-set.test.ts`.
 */
import type { Segment } from './ast.ts';
import { isIndex, spellPath } from './path.ts';

/** Every item of a list. */
export const each = Symbol('[*]');
export type Step = Segment | typeof each;

export interface PathRead {
  /** From the root of the policy input. */
  readonly steps: readonly Step[];
  /** Whether only presence and kind are read. */
  readonly blank: boolean;
}

/** A position in policy inputs, and the reads at it. */
export interface Trie {
  whole: boolean;
  blank: boolean;
  readonly members: Map<Segment, Trie>;
  each: Trie | undefined;
}

export function trieOf(reads: readonly PathRead[]): Trie {
  const root = emptyTrie();
  for (const read of reads) insert(read, root);
  return root;
}

const emptyTrie = (): Trie => ({ whole: false, blank: false, members: new Map(), each: undefined });

function insert({ steps, blank }: PathRead, root: Trie): void {
  let at = root;
  for (const step of steps) {
    let next = child(at, step);
    if (next === undefined) {
      next = emptyTrie();
      if (step === each) at.each = next;
      else at.members.set(step, next);
    }
    at = next;
  }
  at[blank ? 'blank' : 'whole'] = true;
}

const child = (trie: Trie | undefined, step: Step): Trie | undefined =>
  step === each ? trie?.each : trie?.members.get(step);

/** Returns the positions below: a list item is at its index and at `[*]`. */
export const below = (at: readonly Trie[], step: Segment): Trie[] =>
  at.flatMap((trie) => {
    const places = [trie.members.get(step), typeof step === 'number' ? trie.each : undefined];
    return places.filter((place) => place !== undefined);
  });

/** Returns whether the kind of a value is retained: a list with read items stays a list. */
export const keepsKind = (trie: Trie): boolean => trie.blank || trie.each !== undefined;

/** Returns whether the values retained at these positions answer a read from there. */
export function isCovered({ steps, blank }: PathRead, at: readonly Trie[]): boolean {
  if (at.some(({ whole }) => whole)) return true;
  const [step, ...rest] = steps;
  if (step === undefined) return blank && at.some(keepsKind);
  const next =
    step === each ? at.map((trie) => trie.each).filter((place) => place !== undefined) : below(at, step);
  return next.length > 0 && isCovered({ steps: rest, blank }, next);
}

/** Returns the reads that no other covers, as sorted texts. */
export function fewest(reads: readonly PathRead[]): string[] {
  const root = trieOf(reads);
  const needed = reads.filter((read) => {
    const place = read.steps.reduce<Trie | undefined>(child, root);
    if (place === undefined) return false;
    const flag = read.blank ? 'blank' : 'whole';
    place[flag] = false;
    const covered = isCovered(read, [root]);
    place[flag] = true;
    return !covered;
  });
  return [...new Set(needed.map(readText))].sort();
}

/** Normalizes a segment: an index may be text or number, and both read the same. */
export const stepOf = (segment: Segment): Step =>
  typeof segment === 'string' && isIndex(segment) ? Number(segment) : segment;

function readText({ steps, blank }: PathRead): string {
  let text = '';
  for (const step of steps) text = step === each ? `${text}[*]` : spellPath(text, [step]);
  return `${text === '' ? '$' : text}${blank ? '?' : ''}`;
}

/** Parses a read path. Throws an Error if it is malformed. */
export function parseRead(text: string): PathRead {
  const token = /\.?([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]|\[("(?:[^"\\]|\\.)*")\]|\[\*\]/y;
  const blank = text.endsWith('?');
  const end = text.length - (blank ? 1 : 0);
  const steps: Step[] = [];
  for (let at = text.startsWith('$') ? 1 : 0; at < end; at = token.lastIndex) {
    token.lastIndex = at;
    const [found, name, index, quoted] = token.exec(text) ?? [];
    if (found === undefined) throw new Error(`expected a read path, got ${JSON.stringify(text)}`);
    if (name !== undefined) steps.push(name);
    else if (index !== undefined) steps.push(Number(index));
    else steps.push(quoted === undefined ? each : (JSON.parse(quoted) as string)); // a string has no member names
  }
  return { steps, blank };
}
