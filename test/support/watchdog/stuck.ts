/**
 * Ends a test file that runs for too long. Time-outs of tests cannot: a loop without a pause never lets them fire, and the
 * import of a file has none. Names the file, shows what its process does, and kills that process: the others go on, and
 * the run fails. Proven by `test/support/watchdog/stuck.long.test.ts`.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as after } from 'node:timers/promises';
import type { Reporter, TestModule } from 'vitest/node';

/** Several times what the slowest file takes on two busy cores. */
const fileSeconds = 300;
/** A process that runs JavaScript pauses within this. */
const pauseMs = 3000;

const titleOf = (path: string): string => `vitest ${path}`;
/** Where the inspector of a process listens once SIGUSR1 has started it. */
const portOf = (pid: number): number => 20_000 + (pid % 10_000);

/** Called in the process of a test file before the file is loaded: lets the watchdog find it and look into it. */
export function makeVisible(path: string): void {
  process.title = titleOf(path);
  process.debugPort = portOf(process.pid);
}

/** `seconds`: how long a file may run. */
export function watchdog(seconds = fileSeconds): Reporter {
  const running = new Map<string, NodeJS.Timeout>();
  // a file has another object once it is loaded
  const nameOf = ({ project, relativeModuleId }: TestModule): string => `${project.name} ${relativeModuleId}`;
  process.once('SIGTERM', () => {
    process.stderr.write(`stopped; not ended: ${[...running.keys()].join(', ')}\n`);
  });
  return {
    onTestModuleQueued: (file) => {
      const late = setTimeout(() => void end(file.moduleId, seconds), seconds * 1000);
      running.set(nameOf(file), late.unref());
    },
    onTestModuleEnd: (file) => {
      clearTimeout(running.get(nameOf(file)));
      running.delete(nameOf(file));
    },
  };
}

async function end(path: string, seconds: number): Promise<void> {
  process.stderr.write(`${path} has not ended after ${seconds} s\n`);
  const title = titleOf(path);
  const processes = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  for (const [, pid, parent, args = ''] of processes.matchAll(/^ *(\d+) +(\d+) (.*)$/gm)) {
    if (Number(parent) !== process.pid || args.trim() !== title) continue;
    const does = await activityOf(Number(pid)).catch((error: unknown) => [`not known: ${String(error)}`]);
    process.stderr.write(`process ${pid}, now killed:\n  ${does.join('\n  ')}\n`);
    process.kill(Number(pid), 'SIGKILL');
  }
}

/** What the inspector of Node sends, as far as it is read. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly result?: { readonly value?: string } };
  readonly params?: {
    readonly scriptId: string;
    readonly url: string;
    readonly callFrames: readonly {
      readonly functionName: string;
      readonly location: { readonly scriptId: string; readonly lineNumber: number };
    }[];
  };
}

/** What a process waits for, and the functions that it is in, the innermost first; none where it runs no JavaScript. */
async function activityOf(pid: number): Promise<string[]> {
  process.kill(pid, 'SIGUSR1'); // Node starts its inspector, also in an endless loop
  const socket = new WebSocket(await inspectorAt(portOf(pid)));
  const urls = new Map<string, string>();
  const waitsFor: string[] = [];
  const paused = Promise.withResolvers<string[]>();
  socket.addEventListener('message', ({ data }) => {
    const { id, method, result, params } = JSON.parse(String(data)) as Message;
    if (id === 1) waitsFor.push(`waits for: ${result?.result?.value}`);
    if (method === 'Debugger.scriptParsed' && params !== undefined) urls.set(params.scriptId, params.url);
    if (method === 'Debugger.paused' && params !== undefined) {
      const frames = params.callFrames.map(
        ({ functionName, location: { scriptId, lineNumber } }) =>
          `in ${functionName} (${urls.get(scriptId)}:${lineNumber + 1} as loaded)`,
      );
      paused.resolve(frames);
    }
  });
  socket.addEventListener('open', () => {
    const expression = 'process.getActiveResourcesInfo().join(" ")';
    socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } }));
    for (const method of ['Debugger.enable', 'Debugger.pause'])
      socket.send(JSON.stringify({ id: 2, method }));
  });
  const frames = await Promise.race([paused.promise, after(pauseMs, ['runs no JavaScript'])]);
  return [...waitsFor, ...frames];
}

async function inspectorAt(port: number): Promise<string> {
  const lateAt = performance.now() + pauseMs;
  for (;;) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
      const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[];
      return target?.webSocketDebuggerUrl ?? '';
    } catch (error) {
      if (performance.now() > lateAt) throw error;
    }
    await after(50);
  }
}
