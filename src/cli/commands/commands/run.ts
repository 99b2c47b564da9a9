/**
 * `gov commands`: a list of commands for people, one JSON value for programs.
 * Tested by `test/cli/program/manifest.test.ts`.
 */
import { version } from '../../../client/version.ts';
import type { Run } from '../../context/command.ts';
import type { CommandSpec, FlagSpec } from '../../program/spec.ts';
import { exitCodesOf, exitMeanings } from '../../program/exit.ts';
import { outputOf } from '../../program/prints.ts';
import { kebab } from '../../program/flags.ts';
import { environment, formats, globalFlags } from '../../program/globals.ts';
import type { commands as spec } from '../../specs/tool/commands.ts';
import { allSpecs } from '../../specs/all.ts';
import { plainView } from '../../terminal/view.ts';

const flagsOf = (flags: Readonly<Record<string, FlagSpec>>) =>
  Object.entries(flags)
    .filter(([, flag]) => !flag.hidden)
    .map(([name, flag]) => Object.assign({ name: `--${kebab(name)}` }, flag));

function described(each: CommandSpec) {
  const { name, summary, details = [], args = [], examples, changes = false } = each;
  return {
    name,
    summary,
    details,
    args,
    flags: flagsOf(each.flags ?? {}),
    formats: [...formats, ...(each.formats ?? [])],
    exitCodes: exitCodesOf(each),
    examples,
    changes,
    ...(each.operation === undefined ? {} : { operation: each.operation }),
    output: outputOf(each),
  };
}

/** The manifest. Programs read it, so change it only by additions. */
export const manifest = () => ({
  name: 'gov',
  version,
  commands: allSpecs().map(described),
  globalFlags: flagsOf(globalFlags),
  exitCodes: exitMeanings,
  environment: Object.fromEntries(environment),
});

export const run: Run<typeof spec> = async ({ out }) => {
  if (out.format === 'json' || out.format === 'yaml') return out.one(manifest(), plainView([]));
  const items = allSpecs().map(({ name, summary }) => ({ command: name, summary }));
  const pages = async function* () {
    yield { items, nextCursor: null };
  };
  await out.list(pages(), plainView(['command', 'summary']), 'commands');
};
