/**
 * The files of programs whose words have a form of their own: archives and the text of awk. Proven by
 * `test/core/action/paths.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Access, ActionCommand } from './shape.ts';

/** A path of null is one that only what runs knows. */
interface FileUse {
  readonly path: string | null;
  readonly access: Access;
}

const all = (words: readonly (string | null)[], access: Access): FileUse[] =>
  words.map((path) => ({ path, access }));

/** Returns the files of `tar`, `unzip`, `zip`, `7z` and `cpio`. */
export function archiveUses(command: ActionCommand): FileUse[] {
  const { program, args, operands, flags } = command;
  if (program === 'tar' || program === 'bsdtar') return tarUses(args);
  const has = (test: RegExp): boolean => flags.some((flag) => flag !== null && test.test(flag));
  // an archive of cpio may have absolute names
  if (program === 'cpio')
    return has(/^(?:-i|--extract|-p|--pass-through)$/) ? all([null], 'write') : all(operands, 'write');
  if (program === 'unzip') {
    const [archive = null] = operands;
    const at = args.indexOf('-d');
    if (has(/^-[lptvzZ]$/)) return all([archive], 'read');
    return [...all([archive], 'read'), ...all([at < 0 ? '.' : (args[at + 1] ?? null)], 'write')];
  }
  const given = program === 'zip' ? operands : operands.slice(1);
  const [archive = null, ...files] = given;
  const verb = program === 'zip' ? 'a' : operands[0];
  const removes = has(/^(?:-m|--move|-sdel)$/);
  if (verb === 'x' || verb === 'e') {
    const to = args.find((arg) => arg?.startsWith('-o') === true);
    return [...all([archive], 'read'), ...all([to === undefined ? '.' : (to?.slice(2) ?? null)], 'write')];
  }
  return [
    ...all([archive], verb === 'l' || verb === 't' ? 'read' : 'write'),
    ...all(files, removes ? 'delete' : 'read'),
  ];
}

/** Letters of short options of tar with a value. */
const tarValued = 'bCfFgHIKLNTVX';

/** Reads the words of `tar`, also in the old form `tar xzf a.tgz`. An archive with absolute names is written anywhere. */
function tarUses(args: readonly (string | null)[]): FileUse[] {
  let mode = '';
  let archive: string | null | undefined;
  let [isAbsolute, removes] = [false, false];
  const folders: (string | null)[] = [];
  const files: (string | null)[] = [];
  const rest = [...args];
  const value = (letter: string, text: string | null): void => {
    if (letter === 'f') archive = text;
    else if (letter === 'C') folders.push(text);
    else if (letter === 'T' || letter === 'X') files.push(text);
  };
  const [first] = rest;
  if (typeof first === 'string' && /^[A-Za-z]/.test(first)) {
    rest.shift();
    for (const letter of first) {
      if (/[xctrud]/i.test(letter) && !tarValued.includes(letter)) mode ||= letter;
      if (letter === 'P') isAbsolute = true;
      if (tarValued.includes(letter)) value(letter, rest.shift() ?? null);
    }
  }
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? null;
    const [, name, given] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word ?? '') ?? [];
    if (name !== undefined) {
      if (/^(?:extract|get|create|list|append|update|delete|diff|compare|concatenate|catenate)$/.test(name))
        mode ||=
          name === 'get' || name === 'extract' ? 'x' : name === 'create' ? 'c' : name === 'list' ? 't' : 'r';
      else if (name.startsWith('abs')) isAbsolute = true;
      else if (name.startsWith('remove-f')) removes = true;
      else if (/^(?:file|dir[a-z]*|one-top-level|files-from|exclude-from)$/.test(name)) {
        const text = given ?? (name === 'one-top-level' ? '.' : (rest[(at += 1)] ?? null));
        value(name === 'file' ? 'f' : /^(?:dir|one)/.test(name) ? 'C' : 'T', text);
      }
    } else if (word !== null && /^-[A-Za-z]/.test(word)) {
      for (const [index, letter] of word.slice(1).split('').entries()) {
        if (/[xctru]/.test(letter)) mode ||= letter;
        if (letter === 'P') isAbsolute = true;
        if (!tarValued.includes(letter)) continue;
        const text = word.slice(index + 2);
        value(letter, text === '' ? (rest[(at += 1)] ?? null) : text);
        break;
      }
    } else files.push(word);
  }
  const named = archive === undefined ? [] : [archive];
  if (mode === 't') return all(named, 'read');
  if (mode === 'x')
    return [
      ...all(named, 'read'),
      ...all(folders.length === 0 ? ['.'] : folders, 'write'),
      ...all(isAbsolute ? [null] : [], 'write'),
    ];
  return [
    ...all(named, removes ? 'delete' : 'write'),
    ...all(files, removes ? 'delete' : 'read'),
    ...all(folders, 'read'),
  ];
}

/** The files that the text of awk writes: `print > "x"`. One that is no text is a file that nobody knows. */
export function awkFiles({ program, operands }: ActionCommand): FileUse[] {
  if (!/^(?:awk|gawk|mawk|nawk)$/.test(program)) return [];
  return operands.flatMap((text): FileUse[] => {
    if (text === null || !text.includes('print')) return [];
    if (text.length > limits.actionPathChars) return all([null], 'write');
    const writes = text.matchAll(
      /\bprintf?\b(?:"(?:\\.|[^"\\])*"|\([^()]*\)|[^;}\n>"(])*>>?\s*("(?:\\.|[^"\\])*"(?=\s*(?:[;}\n]|$)))?/gs,
    );
    return [...writes].map(([, name]) => ({
      path: name === undefined ? null : name.slice(1, -1),
      access: 'write',
    }));
  });
}
