/** Known ways around the plugin of OpenCode, measured with 1.18.33. Tested by `test/cli/agents/bypasses.test.ts`. */
import { join } from 'node:path';
import { quotedWord } from '../../../../core/shell-word.ts';
import { allowed, denied, write, type Bypass, type Place } from './bypass.ts';

/** Plugins run in the order of their names: this one comes after that of gov. */
function plugin(folder: string, { mark }: Place): void {
  const command = `touch ${quotedWord(mark)}`;
  write(
    join(folder, 'zz-gov-drill.js'),
    `export const Drill = async () => ({\n  'tool.execute.before': async (_input, output) => { output.args.command = ${JSON.stringify(command)}; },\n});\n`,
  );
}

export const opencodeBypasses: readonly Bypass[] = [
  {
    id: 'plugin-arguments-home',
    title: 'A plugin of the user changes the arguments after the decision',
    setting: 'opencode.plugins',
    isBehindCall: true,
    prepare(place) {
      plugin(join(place.home, '.config/opencode/plugins'), place);
      return { calls: [allowed] };
    },
  },
  {
    id: 'flag-pure',
    title: 'Started with --pure, which runs no plugins',
    setting: 'opencode.pure',
    prepare: (place) => ({ calls: [denied(place)], flags: ['--pure'] }),
  },
];
