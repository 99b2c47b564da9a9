/** `gov run`, as data. Tested by `test/cli/commands/run/program.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { command, flag } from '../../program/spec.ts';

export const run = command({
  name: 'run',
  prints: 'none',
  summary: 'Run a program as a recorded run: start, end, telemetry, proof',
  changes: true,
  details: [
    'Records the start with the commit of the working directory, starts the program directly on its own standard streams, records how it ended, and proves the run. gov forwards signals and returns the exit code of the program.',
    'The program finds its run in GOV_RUN, and the receiver of telemetry in OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS. Telemetry that names no conversation belongs to the run. The headers and GOV_API_KEY contain a token that is good for this run alone: it evaluates and records in it, for 7 days, and ends when the key of gov is revoked. The program gets no other credential of gov.',
    'If the start cannot be recorded, the program does not start.',
    '--sandbox (Linux, needs bwrap): the policies are asked about each known file with keys and each file that says what agents and shells run, and the kernel holds closed what they refuse. All else is read-only but the workspace, temporary folders and caches. An HTTP proxy has each host decided when the program connects; there is no other network. Each program that starts is recorded with its words, from outside. Unix sockets are closed. What the kernel cannot enforce is in the event sandbox.started.',
  ],
  args: [{ name: 'command', description: 'The program and its arguments, after --', variadic: true }],
  flags: {
    run: flag.text('RUN', 'Run to record in; default: a new one', { maxLength: limits.identifierChars }),
    actor: flag.text('NAME', 'Name of the agent; default: the program'),
    fail: flag.text('HOW', 'open: start the program also if nothing can be recorded; default closed', {
      choices: ['closed', 'open'],
    }),
    prove: flag.text('WHEN', 'no: do not prove the run at its end; default yes', { choices: ['yes', 'no'] }),
    sandbox: flag.on(
      'Start the program in a sandbox that the policies fill; without a sandbox it does not start',
    ),
    write: flag.list(
      'DIR',
      'With --sandbox: a further folder that the program may write to, if the policies allow it',
    ),
    port: flag.list(
      'PORT',
      'With --sandbox: a port of 127.0.0.1 that the program may reach, if the policies allow it; at most 2',
    ),
  },
  ownsSignals: true,
  examples: [
    'gov run -- claude -p "fix the tests"',
    'gov run --run nightly-7 --prove no -- python agent.py',
    'gov run --sandbox -- claude -p "fix the tests"',
  ],
  exitCodes: {
    1: 'the end could not be recorded (or the exit code of the program)',
    10: 'the start could not be recorded: the program did not start',
    126: 'the program could not be started, or this machine can make no sandbox',
    127: 'the program was not found',
  },
});
