/** A client of `gov mcp proxy`: writes lines, and waits for the message with an id. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { projectRoot } from '../../paths.ts';
import { cleanEnv, emptyDirectory, runner } from './tool.ts';

const testServer = join(projectRoot, 'test/cli/support/mcp-server.ts');

export interface Proxied {
  /** Sends a message as it is, or as JSON. */
  send(message: string | object): void;
  /** Sends a request, and returns its answer. */
  ask(id: number | string, method: string, params?: object): Promise<any>; // oxlint-disable-line typescript/no-explicit-any -- each test says what it expects
  call(id: number | string, name: string, args?: object, meta?: object): Promise<any>; // oxlint-disable-line typescript/no-explicit-any -- the same
  /** The answer with this id, now or later. */
  answer(id: number | string | null): Promise<any>; // oxlint-disable-line typescript/no-explicit-any -- the same
  readonly lines: readonly string[];
  /** Methods, or tools of calls, that reached the test server. */
  reached(): string[];
  /** The lines that reached it. */
  received(): string[];
  readonly child: ReturnType<typeof spawn>;
  /** Closes its input, and returns its exit code and standard error. */
  end(): Promise<{ code: number | null; stderr: string }>;
  ended: Promise<{ code: number | null; stderr: string }>;
}

export interface ProxyOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  readonly command?: readonly string[];
  readonly description?: string;
}

export function startProxy({
  env,
  flags = [],
  command,
  description = 'Pay an amount',
}: ProxyOptions): Proxied {
  const log = join(emptyDirectory(), 'received');
  const server = command ?? [process.execPath, testServer, log, description];
  const child = spawn(process.execPath, [runner, 'mcp', 'proxy', ...flags, '--', ...server], {
    env: cleanEnv(env),
    stdio: 'pipe',
  });
  let stderr = '';
  const lines: string[] = [];
  const waiting = new Map<unknown, (message: unknown) => void>();
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.on('error', () => {});
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    const message = JSON.parse(line) as { id?: unknown; method?: string };
    if (message.method === undefined) waiting.get(message.id)?.(message);
  });
  const ended = new Promise<{ code: number | null; stderr: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, stderr })),
  );
  const answer = (id: unknown) =>
    new Promise((resolve, reject) => {
      const found = lines
        .map((line) => JSON.parse(line))
        .find((each) => each.id === id && each.method === undefined);
      if (found !== undefined) return resolve(found);
      waiting.set(id, resolve);
      void ended.then((how) =>
        reject(new Error(`expected an answer to ${String(id)}, the proxy ended: ${JSON.stringify(how)}`)),
      );
    });
  const send = (message: string | object): void =>
    void child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  const ask = (id: number | string, method: string, params?: object) => {
    send({ jsonrpc: '2.0', id, method, ...(params && { params }) });
    return answer(id);
  };
  const received = (): string[] =>
    existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : [];
  return {
    child,
    lines,
    send,
    ask,
    answer,
    ended,
    call: (id, name, args = {}, meta) =>
      ask(id, 'tools/call', { name, arguments: args, ...(meta && { _meta: meta }) }),
    received,
    reached: () =>
      received().map((line) => {
        const { method, params } = JSON.parse(line);
        return method === 'tools/call' ? params.name : method;
      }),
    end: () => {
      child.stdin.end();
      return ended;
    },
  };
}

export const envelope2026 = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'agent-2026', version: '2' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
};

/** The text of a result. */
export const textIn = (answer: { result: { content: { text: string }[] } }): string =>
  answer.result.content[0]?.text ?? '';
