/**
 * The values of an argument or a flag: words that this program knows, contexts and folders of this user, ids of the
 * service. Only plain words are offered: a shell inserts them without quotes, and agents choose the ids of runs.
 * Tested by `test/cli/completion/complete.test.ts`.
 */
import { table } from '../../contract/table.ts';
import { nouns } from '../specs/nouns.ts';
import { allSpecs } from '../specs/all.ts';
import { readAliases, readUserConfig } from '../context/config.ts';
import { formats } from '../program/globals.ts';
import { fieldsOf, outputOf } from '../program/prints.ts';
import type { ArgSpec, FlagSpec } from '../program/spec.ts';
import type { Io } from '../terminal/io.ts';
import type { CommandLine, Word } from './typed.ts';

export interface Offer {
  readonly words: readonly Word[];
  /** The shell adds names of files, or of folders only. */
  readonly paths?: 'files' | 'folders';
}

type Completable = Pick<ArgSpec, 'name'> & Partial<Pick<FlagSpec, 'type' | 'choices' | 'value'>>;
type Source = (typed: CommandLine, io: Io) => readonly Word[] | Promise<readonly Word[]>;

const plain = /^[A-Za-z0-9/][\w.:@/+=-]*$/;

/** Returns the offer; `asked` is an argument or a flag by its camelCase name. Errors: those of the configuration. */
export async function valuesOf(asked: Completable, typed: CommandLine, io: Io): Promise<Offer> {
  const { name, type, choices, value = '' } = asked;
  const found = choices?.map((word) => ({ word })) ?? (await wordsOf(name, typed, io));
  const words = found.filter(({ word }) => plain.test(word));
  const isArgument = type === undefined;
  const isFolder = value === 'DIR' || (isArgument && typed.path === 'log recover');
  if (isFolder) return { words, paths: 'folders' };
  const isFile = value.includes('FILE') || (isArgument && fileArguments.has(name));
  return isFile ? { words, paths: 'files' } : { words };
}

/** Arguments that are files, or may be one. */
const fileArguments = new Set(['file', 'config', 'command', 'report', 'proof', 'policy']);

async function wordsOf(name: string, typed: CommandLine, io: Io): Promise<readonly Word[]> {
  const [noun] = typed.path.split(' ', 1);
  const key = name === 'name' || name === 'from' ? `${noun} ${name}` : name;
  const source = sources[key];
  if (source !== undefined) return source(typed, io);
  const { idsOf } = await import('./ids.ts');
  return idsOf(key, typed, io);
}

const contexts = (io: Io) => Object.entries(readUserConfig(io.env).contexts);

const contextWords: Source = (_, io) =>
  contexts(io).map(([word, context]) => ({
    word,
    description: context.kind === 'plane' ? context.dataDir : context.baseUrl,
  }));

/** Sources that need no service. A `name` and a `from` have their noun before them. */
const sources: Readonly<Record<string, Source>> = {
  context: contextWords,
  'context name': contextWords,
  'alias name': (_, io) =>
    Object.entries(readAliases(io.env)).map(([word, description]) => ({ word, description })),
  data: (_, io) =>
    contexts(io).flatMap(([name, context]) =>
      context.kind === 'plane' ? [{ word: context.dataDir, description: `context ${name}` }] : [],
    ),
  output: ({ spec }) => [...formats, ...(spec?.formats ?? [])].map((word) => ({ word })),
  json: ({ spec }) => (spec === undefined ? [] : fieldsOf(outputOf(spec)).map((word) => ({ word }))),
  color: () => ['auto', 'always', 'never'].map((word) => ({ word })),
  starter: async () => {
    const { starters } = await import('../policies/starters.ts');
    return starters.map(({ id, summary }) => ({ word: id, description: summary }));
  },
  path: ({ args: [method] }) =>
    Object.values(table)
      .filter((row) => row.method === method?.toUpperCase())
      .map(({ path, summary }) => ({ word: path, description: summary })),
  topic: topicWords,
};

/** Help has topics, and the words of every command. */
async function topicWords({ args }: CommandLine): Promise<readonly Word[]> {
  const begun = args.map((word) => `${word} `).join('');
  const verbs = allSpecs().flatMap(({ name }) =>
    name.startsWith(begun) ? [name.slice(begun.length).split(' ', 1)[0] ?? ''] : [],
  );
  const words = [...new Set(verbs)].map((word) => ({ word }));
  if (args.length > 0) return words;
  const { topics } = await import('../grammar/help.ts');
  return [
    ...nouns.map(([, word, description]) => ({ word, description })),
    ...Object.keys(topics).map((word) => ({ word, description: 'Topic' })),
  ];
}
