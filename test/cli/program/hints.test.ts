/**
 * Commands that gov prints to be copied, in the source: each value in one is a word for the shell (`shellWord`). Names of
 * contexts, folders, tools and files come from others, and a person pastes the line into a shell.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nouns } from '../../../src/cli/specs/nouns.ts';
import { projectRoot } from '../../paths.ts';

/** Where lines for people are written. Services and stores print ids alone, which have no character for a shell. */
const places = ['src/cli', 'src/client', 'src/core/agents', 'src/core/mcp', 'src/host', 'plane'];
const begins = [
  new RegExp(`\\bgov (?:${nouns.map(([, noun]) => noun).join('|')})\\b`, 'g'),
  /(?<=[ `'(])(?:-[A-Z]|--[a-z][a-z-]*)[ =](?=\$\{)/g,
];

/** Parts that were made a word before, or that gov itself chose, such as the name of a verb. */
const ready =
  /shellWord\(|quotedWord\(|^(?:word|next|again|shown|which|verb|example|method|sshNamespace|limits\.\w+|proofFile)$/;
/** Sentences that name a command or a flag, and are no command. */
const sentences = [
  'expected a backup of gov plane backup in',
  'gov log fsck found',
  'Topics: gov help',
  '`--set $',
  '`expected --name $',
  'expected a file, got -O',
  "bold('gov approvals')",
  'gov export download ${shellWord(exportId)}${to}', // both parts are made of words above
  '--${flags[name] ?? name}', // the name of a flag
  'gov log entries ${flag}', // a number
  '`--since ${known}`',
  '` --hold ${hold}`', // a number
  'quotedWord(config)}${holds}`', // made above
  '--type ${bypassType}`', // a constant
  '`--require ${path}`', // of NODE_OPTIONS, which node reads
];

/** The values of the commands in a line that are not words for a shell. */
function unquotedIn(line: string): string[] {
  if (/^\s*(?:\*|\/\/|\/\*)/.test(line) || sentences.some((each) => line.includes(each))) return [];
  const values = begins.flatMap((begin) =>
    [...line.matchAll(begin)].flatMap((found) => valuesFrom(line, found.index + found[0].length)),
  );
  return [...new Set(values)];
}

/** The values up to the end of the command: a mark of the sentence, or the end of the text. */
function valuesFrom(line: string, start: number): string[] {
  const values: string[] = [];
  for (let at = start; at < line.length && line[at] !== '`'; at++) {
    if (/[;,:.?)]/.test(line[at] ?? '') && /[\s'`]|^$/.test(line[at + 1] ?? '')) break;
    if (!line.startsWith('${', at)) continue;
    let end = at + 2;
    for (let depth = 1; depth > 0 && end < line.length; end++)
      depth += line[end] === '{' ? 1 : line[end] === '}' ? -1 : 0;
    const value = line.slice(at + 2, end - 1);
    if (!ready.test(value)) values.push(value);
    at = end - 1;
  }
  return values;
}

describe('a command that gov prints to be copied', () => {
  it('has each name as one word for the shell', () => {
    const found: string[] = [];
    for (const place of places)
      for (const name of readdirSync(join(projectRoot, place), { recursive: true, encoding: 'utf8' })) {
        const path = join(place, name);
        if (!path.endsWith('.ts') || path.startsWith('src/cli/specs/')) continue;
        const lines = readFileSync(join(projectRoot, path), 'utf8').split('\n');
        for (const [at, line] of lines.entries())
          found.push(...unquotedIn(line).map((value) => `${path}:${at + 1}: ${value}`));
      }
    expect(found).toEqual([]);
  });

  it.each([
    ['`sign in: gov auth login -C ${name}`', ['name']],
    ['safe`next: gov plane serve --data ${dir}; keep ${file}`', ['dir']],
    ['`gov runs show ${shellWord(id)} --since ${at}, then wait ${ms}`', ['at']],
    ['`gov runs show ${shellWord(`${a}/b`)}`', []],
    ["`choose: ${names.map((name) => `-C ${name}`).join(', ')}`", ['name']],
  ])('is found in %s', (line, values) => {
    expect(unquotedIn(line)).toEqual(values);
  });
});
