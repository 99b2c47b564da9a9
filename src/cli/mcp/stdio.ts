/**
 * The MCP proxy between a client on this process's standard streams and a server that it starts. Each line is forwarded as
 * its bytes came, in order; a tool call waits for its decision, and what the client sends after it waits too. Standard
 * output carries protocol only. Tested by `test/cli/commands/mcp/stdio.test.ts` with real servers and a real plane.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { constants } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { defaultBounds } from '../../core/json/parse.ts';
import { isObject } from '../../core/json/object.ts';
import { failure, notRun } from '../../core/mcp/answer.ts';
import { readClientMessage, type CallMessage, type ClientMessage } from '../../core/mcp/message.ts';
import type { Envelope } from '../../core/mcp/envelope.ts';
import { endingSignals, withHangupOf } from '../program/hangup.ts';
import type { Gate, Peers } from './gate.ts';
import { LineTooLong, linesOf, messageIn } from './lines.ts';
import { listTools, PendingLists } from './listing.ts';
import { OpenCall, OpenRequests } from './open-calls.ts';
import type { Pins } from './pins.ts';
import { namedIn, passServerMessage } from './server-message.ts';

type Child = ChildProcessByStdio<Writable, Readable, null>;

export interface StdioOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly gate: Gate;
  readonly pins: Pins;
  readonly stdin: Readable;
  /** Writes bytes to the client; resolves when more can be written, rejects when the client is gone. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  readonly warn: (text: string) => void;
}

const SERVER_ERROR = -32000;
const INVALID_REQUEST = -32600;

/** Relays until the server ends. Returns its exit code as a shell does: 128 and the signal's number after a signal. */
export async function relayStdio(options: StdioOptions): Promise<number> {
  const [command = '', ...args] = withHangupOf(options.command);
  const child: Child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...options.env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const forwardSignal = (name: NodeJS.Signals): void => void child.kill(name);
  const signals = endingSignals();
  for (const name of signals) process.on(name, forwardSignal);
  try {
    return await new Relay(child, options).run();
  } finally {
    for (const name of signals) process.off(name, forwardSignal);
    options.stdin.destroy();
  }
}

class Relay {
  readonly #child: Child;
  readonly #options: StdioOptions;
  readonly #lists = new PendingLists();
  readonly #open = new OpenRequests(this.#lists);
  /** The proxy's own request for the tools, while it has no answer. */
  #listing: Promise<void> | undefined;
  #peers: Peers = {};
  /** Resolves when the last message so far was forwarded, or is known not to be. */
  #turn: Promise<void> = Promise.resolve();
  #waiting = 0;
  #hasRoom: (() => void) | undefined;

  constructor(child: Child, options: StdioOptions) {
    this.#child = child;
    this.#options = options;
  }

  async run(): Promise<number> {
    const child = this.#child;
    const ended = new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) =>
        resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]),
      );
    });
    ended.catch(() => {}); // awaited below
    child.stdin.on('error', () => {}); // the server has ended: its exit says so
    const fromServer = this.#fromServer().catch((cause: unknown) => this.#giveUp(cause));
    this.#fromClient().catch((cause: unknown) => this.#giveUp(cause));
    const code = await ended;
    // a process that the server left behind may hold its output open
    await Promise.race([fromServer, setTimeout(limits.mcpDrainSeconds * 1000, undefined, { ref: false })]);
    child.stdout.destroy();
    await this.#finish(code);
    return code;
  }

  /** Answers what the server left open, and waits for the records. */
  async #finish(code: number): Promise<void> {
    const { gate, write, warn } = this.#options;
    const detail = `the server ended (exit code ${code}) before it answered`;
    for (const id of this.#open.endAll(detail))
      await write(lineOf(failure(id, SERVER_ERROR, detail))).catch(() => {});
    const unrecorded = await gate.flush();
    if (unrecorded > 0) warn(`${unrecorded} calls ended without a record of their outcome`);
  }

  /** Neither side can go on: ends the server, and with it the relay. */
  #giveUp(cause: unknown): void {
    if (cause instanceof LineTooLong) this.#options.warn(cause.message);
    this.#child.stdin.end();
    this.#child.kill('SIGTERM');
    this.#child.stdout.destroy();
  }

  async #fromServer(): Promise<void> {
    const { pins, write, warn } = this.#options;
    const learn = (peers: Peers): void => void (this.#peers = { ...this.#peers, ...peers });
    for await (const line of linesOf(this.#child.stdout)) {
      const message = messageIn(line);
      if (message === null) continue;
      const passed = passServerMessage(message, { open: this.#open, pins, learn });
      if (passed.do === 'forward') await write(line);
      else if (passed.do === 'replace') await write(lineOf(passed.text));
      else if (passed.do === 'drop') warn(`dropped a line of the server: ${passed.why}`);
    }
  }

  async #fromClient(): Promise<void> {
    for await (const line of linesOf(this.#options.stdin)) {
      const message = messageIn(line);
      if (message === null) continue;
      await this.#room();
      if (message.includes(0x0d)) {
        // a server that also ends lines at CR would read several messages
        await this.#answer(failure(null, INVALID_REQUEST, 'expected no carriage return inside of a message'));
      } else await this.#take(readClientMessage(message), line);
    }
    await this.#turn;
    this.#child.stdin.end();
  }

  async #take(message: ClientMessage, line: Buffer): Promise<void> {
    switch (message.kind) {
      case 'refused':
        return this.#answer(failure(message.id, message.code, message.detail));
      case 'call':
        return this.#call(message, line);
      case 'cancel': {
        const call = message.requestId === undefined ? undefined : this.#open.get(message.requestId)?.call;
        call?.cancel();
        // the server has not seen the request, so it must not see the cancellation
        if (call?.isForwarded === false) return undefined;
        // a cancelled request gets no answer
        if (call === undefined && message.requestId !== undefined) this.#open.remove(message.requestId);
        break;
      }
      case 'request': {
        const fault = this.#open.add(message.id, message.method);
        if (fault !== undefined) return this.#answer(failure(message.id, INVALID_REQUEST, fault));
        if (message.method === 'initialize') this.#learnClient(message.envelope);
        break;
      }
      case 'response':
        // not in turn: the server may need it before it answers the tools/list that a call waits for
        return this.#send(line);
      case 'notification':
    }
    this.#inTurn((release, turn) => turn.then(() => this.#send(line)).finally(release));
  }

  async #call(message: CallMessage, line: Buffer): Promise<void> {
    const { gate } = this.#options;
    if (gate.open >= limits.mcpOpenRequests) {
      const text = `not run: expected at most ${limits.mcpOpenRequests} calls that run or wait for their record`;
      return this.#answer(notRun(message, text));
    }
    const open = new OpenCall(message.meta['progressToken']);
    const fault = this.#open.add(message.id, 'tools/call', open);
    if (fault !== undefined) return this.#answer(failure(message.id, INVALID_REQUEST, fault));
    const asked = this.#lists.answered();
    const bytes = message.forwarded === message.envelope.bytes ? line : lineOf(message.forwarded);
    this.#inTurn(async (release, turn) => {
      const listing = { asked, ask: () => turn.then(() => this.#list(message)) };
      const onHold = (): void => void turn.then(release);
      const context = { peers: this.#peers, signal: open.signal, listing, onHold };
      const answer = await gate.call(message, context, async () => {
        await turn;
        if (open.signal.aborted) return open.unsent();
        const run = open.run();
        await this.#send(bytes).finally(release);
        return run;
      });
      this.#open.remove(message.id);
      if (answer !== null && !open.signal.aborted) await this.#answer(answer);
      await turn;
      release();
    });
  }

  /** Asks the server for its tools. One request at a time: a server that never answers gets no second one. */
  #list({ meta }: CallMessage): Promise<void> {
    this.#listing ??= listTools(this.#options.pins, meta, async (params) => {
      const id = JSON.stringify(`gov:${crypto.randomUUID()}`);
      const answer = this.#open.addOwn(id, 'tools/list');
      await this.#send(
        lineOf(`{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":${JSON.stringify(params)}}`),
      );
      return answer;
    }).finally(() => (this.#listing = undefined));
    return this.#listing;
  }

  /** Gives `work` its place in the order: `turn` resolves when all before are through, `release` lets the next one go. */
  #inTurn(work: (release: () => void, turn: Promise<void>) => Promise<void>): void {
    const turn = this.#turn;
    this.#waiting++;
    let isReleased = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      this.#waiting--;
      resolve();
      this.#hasRoom?.();
    };
    work(release, turn).catch((cause: unknown) => this.#giveUp(cause));
  }

  async #room(): Promise<void> {
    while (this.#waiting >= limits.mcpWaiting) {
      await new Promise<void>((resolve) => (this.#hasRoom = resolve));
    }
  }

  async #send(bytes: Uint8Array): Promise<void> {
    const { stdin } = this.#child;
    if (!stdin.writable || stdin.write(bytes)) return;
    await new Promise<void>((resolve) => {
      stdin.once('drain', resolve);
      stdin.once('close', resolve);
    });
  }

  #answer(text: string): Promise<void> {
    return this.#options.write(lineOf(text));
  }

  #learnClient(envelope: Envelope): void {
    try {
      const params = envelope.value('params', defaultBounds);
      const client = isObject(params) ? namedIn(params['clientInfo']) : undefined;
      if (client !== undefined) this.#peers = { ...this.#peers, client };
    } catch {
      // the server judges its own handshake
    }
  }
}

const lineOf = (text: string | Uint8Array): Buffer => Buffer.concat([Buffer.from(text), Buffer.from('\n')]);
