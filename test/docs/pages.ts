/** The pages of the documentation, what stands in them as commands, and whether the tool knows those commands. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { manifest } from '../../src/cli/commands/commands/run.ts';
import { projectRoot } from '../paths.ts';

export interface Page {
  /** Path from the root of the project. */
  readonly name: string;
  readonly text: string;
}

export const pages: readonly Page[] = [
  'README.md',
  ...readdirSync(join(projectRoot, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .toSorted(),
].map((name) => ({ name, text: readFileSync(join(projectRoot, name), 'utf8') }));

export const page = (name: string): Page => {
  const found = pages.find((each) => each.name === name);
  if (found === undefined) throw new Error(`expected the page ${name}`);
  return found;
};

/** Anchors of the headings of a page, as GitHub makes them. */
export const anchorsOf = (text: string): string[] =>
  [...text.replace(/^```[^]*?^```$/gm, '').matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );

/** The fenced blocks of a language, below a heading where one is given. */
export function blocks({ text }: Page, language: string, heading?: string): string[] {
  const from = heading === undefined ? 0 : text.indexOf(`\n## ${heading}\n`);
  if (from === -1) throw new Error(`expected the heading ${heading}`);
  const end = heading === undefined ? -1 : text.indexOf('\n## ', from + 4);
  const part = text.slice(from, end === -1 ? undefined : end);
  const fence = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm');
  return [...part.matchAll(fence)].map(([, block = '']) => block);
}

/** The files that a page shows: a block below a paragraph that ends with the file's name in backquotes and a colon. */
export const filesIn = ({ text }: Page): { readonly name: string; readonly content: string }[] =>
  [...text.matchAll(/`([\w./-]+)`:\n\n```\w+\n([^]*?)^```$/gm)].map(([, name = '', content = '']) => ({
    name,
    content,
  }));

/** The exit code that a comment of the line promises first; 0 where it promises none. */
export const promisedExit = (line: string): number =>
  Number(/#.*?\bexit (\d+)(?! (?:where|if))/.exec(line)?.[1] ?? 0);

/** A line of a block without its comment. */
export const withoutComment = (line: string): string => line.replace(/(^|\s)#.*$/, '').trimEnd();

export interface Command {
  readonly words: readonly string[];
  /** In running text only the name may stand, without what it needs. */
  readonly complete: boolean;
  readonly where: string;
}

/** Every `gov …` of a page, in blocks and in running text. */
export function commandsOf(of: Page): Command[] {
  const inBlocks = blocks(of, 'sh')
    .flatMap((block) => block.split('\n'))
    .flatMap((line) => withoutComment(line).split(/&&|\||;/))
    .map((text) => ({ text, complete: true }));
  const prose = of.text.replace(/^```[^]*?^```$/gm, '');
  const inProse = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => ({ text, complete: false }));
  return [...inBlocks, ...inProse].flatMap(({ text, complete }) => {
    const [program = '', ...words] = wordsOf(text.trim());
    if (!/^(\.?\/?bin\/)?gov$/.test(program)) return [];
    return [{ words, complete, where: `${of.name}: ${text.trim()}` }];
  });
}

/** Words of a shell line, quotes taken off; what is redirected is left out. */
const wordsOf = (text: string): string[] =>
  (text.replace(/\s(?:<|>{1,2})\s*\S+/g, '').match(/'[^']*'|"[^"]*"|\S+/g) ?? []).map((word) =>
    word.replace(/^(['"])(.*)\1$/, '$2'),
  );

const { commands, globalFlags } = manifest();
type Flag = (typeof globalFlags)[number];
const always = new Set(['--help', '--version', '-h', '-V']);
/** Flags whose value may be left out. */
const valueIsOptional = new Set(['--spool']);

/** What is wrong with a command, or null. */
export function faultOf({ words, complete }: Command): string | null {
  const spec = commands
    .filter(({ name }) => name.split(' ').every((part, at) => words[at] === part))
    .toSorted((a, b) => b.name.length - a.name.length)[0];
  if (spec === undefined) {
    const isNoun = commands.some(({ name }) => name.split(' ')[0] === words[0]);
    const isGlobal = words.every((word) => always.has(word));
    return isGlobal || (isNoun && words.length === 1 && !complete) ? null : 'there is no such command';
  }
  const flags: readonly Flag[] = [...globalFlags, ...spec.flags];
  const given: string[] = [];
  const rest = words.slice(spec.name.split(' ').length);
  let positional = 0;
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? '';
    if (word === '--') {
      // what follows is another program's
      positional += rest.length - at - 1;
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      positional += 1;
      continue;
    }
    const [name = '', inline] = word.split('=');
    const flag = flags.find((each) => each.name === name || `-${each.short}` === name);
    if (flag === undefined && always.has(name)) continue;
    if (flag === undefined) return `there is no flag ${name}`;
    given.push(flag.name);
    if (inline === undefined && valueIsOptional.has(flag.name)) continue;
    const value = flag.type === 'boolean' ? undefined : (inline ?? rest[++at]);
    if (flag.type !== 'boolean' && value === undefined && complete) return `${name} has no value`;
    const values = flag.type === 'strings' ? value?.split(',') : [value];
    if (
      flag.choices !== undefined &&
      values?.some((each) => each !== undefined && !flag.choices?.includes(each))
    ) {
      return `${name} has no choice ${value}`;
    }
  }
  return complete ? missing(spec, { given, positional }) : null;
}

function missing(
  { args, flags }: (typeof commands)[number],
  { given, positional }: { readonly given: readonly string[]; readonly positional: number },
): string | null {
  const needed = args.filter(({ optional }) => optional !== true).length;
  const most = args.some(({ variadic }) => variadic) ? Infinity : args.length;
  if (positional < needed || positional > most) return `expected ${needed} arguments, got ${positional}`;
  const flag = flags.find(({ name, required }) => required === true && !given.includes(name));
  return flag === undefined ? null : `${flag.name} is required`;
}
