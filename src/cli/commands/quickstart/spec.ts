/** `gov quickstart`, as data. Tested by `test/cli/commands/quickstart/run.test.ts`. */
import { command } from '../../program/spec.ts';

export const quickstart = command({
  name: 'quickstart',
  summary: 'Start a plane, record a run, prove it, verify it offline, and see a tampered copy fail',
  details: [
    'Works in a folder of its own and stops the plane at the end, unless --keep is set. Without FILE it records a ' +
      'shipped run: a real program that pays invoices and asks a person above a limit.',
  ],
  args: [
    { name: 'file', description: 'Run to record instead, in any format of events push', optional: true },
  ],
  flags: {
    from: {
      type: 'string',
      value: 'FORMAT',
      choices: ['auto', 'openai-chat', 'openhands', 'swe-agent', 'langfuse'],
      description: 'Format of FILE; default: detected',
    },
    data: {
      type: 'string',
      value: 'DIR',
      description: 'Folder to make; default: a new one for temporary files',
    },
    keep: { type: 'boolean', description: 'Keep the plane running, and make a context for it' },
  },
  examples: ['gov quickstart', 'gov quickstart --keep', 'gov quickstart --from openhands trajectory.json'],
  exitCodes: {
    0: 'proved and verified, and the tampered copy failed',
    3: 'the proof does not verify, or the tampered copy does',
  },
});
