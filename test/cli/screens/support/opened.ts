/** The tool in this process, in a terminal without a device, against a plane. */
import { tmpdir } from 'node:os';
import { run } from '../../../../src/cli/run.ts';
import { cleanEnv } from '../../support/tool.ts';
import type { PolicyPlane } from '../../support/policy-plane.ts';
import { FakeTerminal } from './terminal.ts';

interface Opened {
  readonly terminal: FakeTerminal;
  /** The exit code, once the screen is closed. */
  readonly code: Promise<number>;
}

export function opened(
  plane: Pick<PolicyPlane, 'baseUrl' | 'key'>,
  line: string,
  {
    columns = 80,
    rows = 24,
    env = {},
  }: { columns?: number; rows?: number; env?: Record<string, string> } = {},
): Opened {
  const terminal = new FakeTerminal(columns, rows);
  const code = run(line.split(' '), {
    stdin: terminal.stdin,
    stdout: terminal.stdout,
    stderr: terminal.stdout,
    env: cleanEnv({
      GOV_BASE_URL: plane.baseUrl,
      GOV_API_KEY: plane.key,
      LANG: 'C.UTF-8',
      NO_COLOR: '1',
      ...env,
    }),
    cwd: tmpdir(),
    now: Date.now,
  });
  return { terminal, code };
}
