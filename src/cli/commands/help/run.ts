/** `gov help`, `gov help events list`, `gov help exit-codes`. Tested by `test/cli/main.test.ts`. */
import { aliasesOf } from '../../grammar/alias.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { helpOf, helpOfNoun, helpOfTool, topics } from '../../grammar/help.ts';
import { safe } from '../../terminal/safe.ts';
import type { help as spec } from '../../specs/tool/help.ts';
import { allSpecs } from '../../specs/all.ts';
import { otherNumber } from '../../specs/nouns.ts';

export const run: Run<typeof spec> = async ({ args, out, io }) => {
  const layout = { styles: out.styles, columns: out.settings.columns };
  const words = args.topic ?? [];
  const specs = allSpecs();
  const topic = topics[words.join('-')];
  if (words.length === 0) return out.line(helpOfTool(specs, layout));
  if (topic !== undefined) return out.line(topic(layout));
  const [noun = '', ...verb] = words;
  const nouns = new Set(specs.map(({ name }) => name.split(' ')[0] ?? name));
  const named = [...nouns].find((each) => each === noun || otherNumber(each) === noun);
  const mine = specs.filter(({ name }) => name === named || name.startsWith(`${named} `));
  const aliases = named === undefined && verb.length === 0 ? aliasesOf(io.env) : {};
  if (Object.hasOwn(aliases, noun))
    return out.line(safe`gov ${noun} is your alias for: gov ${aliases[noun] ?? ''}`);
  const found = mine.find(({ name }) => name === [named, ...verb].join(' '));
  if (found !== undefined) return out.line(helpOf(found, layout));
  if (named !== undefined && verb.length === 0) return out.line(helpOfNoun(named, mine, layout));
  throw usage(
    `expected a command or a topic, got ${JSON.stringify(words.join(' '))}`,
    `commands: gov commands; topics: ${Object.keys(topics).join(', ')}`,
  );
};
