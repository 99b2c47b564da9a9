/** Runs the tool at a pseudo-terminal, which `script` of util-linux makes. */
import { execFileSync, spawn } from 'node:child_process';
import { shellWord } from '../../../src/core/shell-word.ts';
import { cleanEnv, runner } from './tool.ts';

const hasScript = (): boolean => {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    return false;
  }
};
export const noTerminal = !hasScript();

export interface TerminalResult {
  readonly code: number | null;
  /** What the terminal showed. */
  readonly text: string;
}

/** Types each answer, and Enter, when its question shows. `areKeys`: without Enter. */
export function govAtTerminal(
  argv: readonly string[],
  {
    answers,
    areKeys = false,
    env,
    cwd,
  }: { answers: readonly (readonly [question: string, answer: string])[]; areKeys?: boolean } & {
    env: Readonly<Record<string, string>>;
    cwd: string;
  },
): Promise<TerminalResult> {
  // script makes a terminal without rows, on which no screen is drawn
  const line = `stty rows 30 cols 100; exec ${[process.execPath, runner, ...argv].map(shellWord).join(' ')}`;
  const child = spawn('script', ['-qec', line, '/dev/null'], { env: cleanEnv(env), cwd });
  let text = '';
  let seen = 0;
  let next = 0;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    for (;;) {
      const [question, answer] = answers[next] ?? [];
      const at = question === undefined ? -1 : text.indexOf(question, seen);
      if (at === -1 || question === undefined) return;
      seen = at + question.length;
      next += 1;
      child.stdin.write(areKeys ? (answer ?? '') : `${answer}\r`);
      // script waits for the end of its input, also after the program ended
      if (next === answers.length) child.stdin.end();
    }
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, text })));
}
