/** `gov quickstart`, as data. */
import { command } from '../../program/command.ts';

export const quickstart = command({
  name: 'quickstart',
  summary: 'Start a plane, record a run, prove it, verify it offline, and see a tampered copy refused',
  details: [
    'Works in a folder of its own and leaves nothing running, unless --keep. Without FILE it records a run that is ' +
      'shipped with this tool: a real program that pays invoices and asks a person above a limit.',
  ],
  args: [
    { name: 'file', description: 'Run to record instead, in any format of events push', optional: true },
  ],
  flags: {
    from: {
      type: 'string',
      value: 'FORMAT',
      choices: ['auto', 'openai-chat', 'openhands', 'swe-agent', 'langfuse'],
      description: 'Format of FILE; told by itself where absent',
    },
    data: {
      type: 'string',
      value: 'DIR',
      description: 'Folder to make; default a new one for temporary files',
    },
    keep: { type: 'boolean', description: 'Leave the plane running, and make a context for it' },
  },
  examples: ['gov quickstart', 'gov quickstart --keep', 'gov quickstart --from openhands trajectory.json'],
  exitCodes: {
    0: 'proved, verified, and the tampered copy refused',
    3: 'the proof does not verify, or the tampered copy does',
  },
});
