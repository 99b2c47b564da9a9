/**
 * Completion scripts for bash, zsh and fish. They contain the whole command tree, so that Tab does not start the tool.
 * Tested by `test/cli/program/completion.test.ts`, which runs each script in its shell if that is installed.
 */
import { environments } from '../../contract/auth-words.ts';
import type { CommandSpec } from './spec.ts';
import { kebab } from './flags.ts';
import { formats, globalFlags } from './globals.ts';
import { allSpecs } from '../commands/specs.ts';

/** The words that may follow: `''` → nouns, `events` → verbs; after a dash, `events list` → flags. */
function tree(specs: readonly CommandSpec[]): { words: Map<string, string[]>; flags: Map<string, string[]> } {
  const words = new Map<string, string[]>();
  const add = (key: string, word: string): void => {
    const known = words.get(key) ?? [];
    if (!known.includes(word)) words.set(key, [...known, word]);
  };
  for (const { name } of specs) {
    const parts = name.split(' ');
    for (const [at, word] of parts.entries()) add(parts.slice(0, at).join(' '), word);
  }
  words.set('completion', ['bash', 'zsh', 'fish']);
  words.set('help', [...(words.get('') ?? []), 'exit-codes', 'environment', 'ci', 'scripting', 'formatting']);
  const flags = specs
    .filter((spec) => Object.keys(spec.flags ?? {}).length > 0)
    .map((spec) => [spec.name, Object.keys(spec.flags ?? {}).map((flag) => `--${kebab(flag)}`)] as const);
  return { words, flags: new Map(flags) };
}

const globalWords = (): string[] => [...Object.keys(globalFlags).map((name) => `--${kebab(name)}`), '--help'];

/** Global flags that accept only a few words. */
const globalChoices = new Map<string, readonly string[]>([
  ['--output', formats],
  ['--color', ['auto', 'always', 'never']],
  ['--env', environments],
]);

/** The shell would expand the scope `*` to the files of the folder. */
const isPlain = (word: string): boolean => /^[\w.:-]+$/.test(word);

/** Choices of a command's own flags: `events list --order` → asc, desc. */
function choices(specs: readonly CommandSpec[]): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const { name, flags = {} } of specs) {
    for (const [flag, spec] of Object.entries(flags))
      if (spec.choices) found.set(`${name} --${kebab(flag)}`, spec.choices.filter(isPlain));
  }
  return found;
}

/** `case` branches that set the words for a key, in the syntax that bash and zsh share. */
const branches = (
  entries: ReadonlyMap<string, readonly string[]>,
  assign: (words: string) => string,
): string => [...entries].map(([key, words]) => `    '${key}') ${assign(words.join(' '))} ;;`).join('\n');

/** Prefixes that another word of a command's name may follow, as the pattern of a `case`. */
const groups = (words: ReadonlyMap<string, readonly string[]>): string =>
  [...words.keys()].map((key) => `'${key}'`).join('|');

function bash(specs: readonly CommandSpec[]): string {
  const { words, flags } = tree(specs);
  const assign = (text: string): string => `words='${text}'`;
  return `# bash completion for gov: source <(gov completion bash)
_gov() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path= word words= i count=0
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word != -* && $count -lt 2 ]]; then path="\${path:+$path }$word"; count=$((count + 1)); fi
  done
  case $previous in
${branches(globalChoices, assign)}
  esac
  case "$path $previous" in
${branches(choices(specs), assign)}
  esac
  if [[ -z $words && $current == -* ]]; then
    case $path in
${branches(flags, assign)}
    esac
    words="$words ${globalWords().join(' ')}"
  elif [[ -z $words ]]; then
    case $path in
${branches(words, assign)}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _gov gov`;
}

function zsh(specs: readonly CommandSpec[]): string {
  const { words, flags } = tree(specs);
  const assign = (text: string): string => `reply=(${text})`;
  return `#compdef gov
# zsh completion for gov: source <(gov completion zsh)
_gov() {
  local -a reply
  local word typed=
  for word in \${words[2,CURRENT-1]}; do
    [[ $word == -* ]] && continue
    case $typed in
    ${groups(words)}) typed="\${typed:+$typed }$word" ;;
    esac
  done
  case \${words[CURRENT-1]} in
${branches(globalChoices, assign)}
  esac
  case "$typed \${words[CURRENT-1]}" in
${branches(choices(specs), assign)}
  esac
  if (( ! \${#reply} )) && [[ \${words[CURRENT]} == -* ]]; then
    case $typed in
${branches(flags, assign)}
    esac
    reply+=(${globalWords().join(' ')})
  elif (( ! \${#reply} )); then
    case $typed in
${branches(words, assign)}
    esac
  fi
  if (( \${#reply} )); then compadd -- "\${reply[@]}"; else _files; fi
}
compdef _gov gov`;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fish(specs: readonly CommandSpec[]): string {
  const nouns = [...new Set(specs.map(({ name }) => name.split(' ')[0] ?? name))];
  const lines = ['# fish completion for gov', 'complete -c gov -f'];
  lines.push(`complete -c gov -n __fish_use_subcommand -a ${quoted(nouns.join(' '))}`);
  for (const { name, summary, flags = {} } of specs) {
    const parts = name.split(' ');
    const seen = (count: number): string =>
      parts
        .slice(0, count)
        .map((word) => `__fish_seen_subcommand_from ${word}`)
        .join('; and ');
    for (const [at, word] of parts.entries()) {
      if (at === 0) continue;
      const isVerb = at === parts.length - 1;
      // fish offers a verb such as `set` below its noun, and not below the noun's groups
      const own = parts.length === 2 ? groupsOf(specs, parts[0] ?? '') : [];
      const apart = own.length === 0 ? '' : `; and not __fish_seen_subcommand_from ${own.join(' ')}`;
      const description = isVerb ? ` -d ${quoted(summary)}` : '';
      lines.push(`complete -c gov -n ${quoted(`${seen(at)}${apart}`)} -a ${word}${description}`);
    }
    for (const [flag, { choices: words, type, description }] of Object.entries(flags)) {
      const value =
        type === 'boolean'
          ? ''
          : words === undefined
            ? ' -r -F'
            : ` -x -a ${quoted(words.filter(isPlain).join(' '))}`;
      lines.push(
        `complete -c gov -n ${quoted(seen(parts.length))} -l ${kebab(flag)}${value} -d ${quoted(description)}`,
      );
    }
  }
  for (const [flag, { description }] of Object.entries(globalFlags)) {
    lines.push(`complete -c gov -l ${kebab(flag)} -d ${quoted(description)}`);
  }
  lines.push(`complete -c gov -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'`);
  lines.push(`complete -c gov -l output -x -a ${quoted(formats.join(' '))}`);
  return lines.join('\n');
}

/** Words below a noun that have verbs of their own, such as `config` below `risk`. */
const groupsOf = (specs: readonly CommandSpec[], noun: string): string[] => [
  ...new Set(
    specs.flatMap(({ name }) => {
      const [first, second = '', third] = name.split(' ');
      return first === noun && third !== undefined ? [second] : [];
    }),
  ),
];

/** Returns the script, or undefined for an unknown shell. */
export function completionFor(shell: string): string | undefined {
  const specs = allSpecs();
  switch (shell) {
    case 'bash':
      return bash(specs);
    case 'zsh':
      return zsh(specs);
    case 'fish':
      return fish(specs);
    default:
      return undefined;
  }
}
