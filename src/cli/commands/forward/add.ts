/** `gov forward add`: writes a target into the configuration. Tested by `test/cli/commands/forward.test.ts`. */
import { resolve } from 'node:path';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import type { forwardAdd as spec } from '../../specs/operate/forward.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, io }) => {
  const { data, eventType, decision, onlyProject, noContent, noConfirm, every, to, ...same } = flags;
  const dataDir = resolve(io.cwd, data ?? session.dataDir());
  const path = (name: string | undefined): string | undefined =>
    name === undefined ? undefined : resolve(io.cwd, name);
  const given = {
    name: args.name,
    to,
    ...same,
    ca: path(flags.ca),
    cert: path(flags.cert),
    key: path(flags.key),
    secretFile: path(flags.secretFile),
    eventTypes: listed(eventType),
    decisions: listed(decision),
    projects: listed(onlyProject),
    content: noContent ? ('none' as const) : undefined,
    confirm: noConfirm ? ('none' as const) : undefined,
    everySeconds: every === undefined ? undefined : Math.ceil(every / 1000),
  };
  const { addTarget } = await import('../../../host/data/forwards.ts');
  const added = addTarget(dataDir, present(given));
  if (out.isHuman)
    await out.lines([safe`added ${added.name}: ${added.format} to ${added.to}, from ${added.from}`]);
  else await out.one(present(given), plainView(['name', 'to']));
  return out.note(
    safe`gov forward test ${shellWord(added.name)} tries it; a serving process sends after its next start`,
  );
};

const listed = <Item>(items: readonly Item[] | undefined): readonly Item[] | undefined =>
  items === undefined || items.length === 0 ? undefined : items;

/** Without the members that were not given. */
const present = <Given extends object>(
  given: Given,
): { [Name in keyof Given]: Exclude<Given[Name], undefined> } =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Given]: Exclude<Given[Name], undefined>;
  };
