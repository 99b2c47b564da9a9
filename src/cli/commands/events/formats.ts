/**
 * `gov events formats`: the recordings that `events push --from` reads; with a name, what becomes of each part, and an
 * example. Tested by `test/cli/commands/events/formats.test.ts`.
 */
import { formats } from '../../../core/intake/registry.ts';
import type { Format } from '../../../core/intake/format.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import type { eventsFormats as spec } from '../../specs/record/events.ts';

const described = ({ name, about, expects, maps, example }: Format) => ({
  format: name,
  about,
  expects,
  maps: maps.map(([part, becomes]) => ({ part, becomes })),
  example,
});

export const run: Run<typeof spec> = async ({ args, out }) => {
  const sorted = formats.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (args.format === undefined) {
    const pages = async function* () {
      yield { items: sorted.map(described), nextCursor: null };
    };
    await out.list(pages(), plainView(['format', 'about', 'example']), 'formats');
    return;
  }
  const format = sorted.find(({ name }) => name === args.format);
  if (format === undefined) {
    throw usage(`expected one of ${sorted.map(({ name }) => name).join(', ')}, got ${args.format}`);
  }
  if (!out.isHuman) {
    await out.one(described(format), plainView([]));
    return;
  }
  await out.line(safe`${format.name}: ${format.about}`);
  await out.line(safe`expects ${format.expects}`);
  await out.line(safe``);
  await out.table(
    format.maps.map(([part, becomes]) => ({ part, becomes })),
    plainView(['part', 'becomes']).columns,
  );
  await out.line(safe``);
  const { example } = format;
  for (const line of Array.isArray(example) ? example : [example])
    await out.line(safe`${JSON.stringify(line)}`);
};
