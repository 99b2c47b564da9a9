/**
 * One answer of a server over Streamable HTTP, on its way to the client: a JSON message as a whole, a stream event by event,
 * anything else as it is. Tested by `test/cli/commands/mcp/http.test.ts`.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bytesOf, eventsOf, typeOf } from './http-answer.ts';
import { passServerMessage, type ServerMessageContext } from './server-message.ts';
import { dataOf, withData } from './sse.ts';

export interface RelayedOptions {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly receiving: ServerMessageContext;
  readonly warn: (text: string) => void;
}

export class RelayedBody {
  readonly #options: RelayedOptions;

  constructor(options: RelayedOptions) {
    this.#options = options;
  }

  /** Resolves at the end of the body. Rejects if the server breaks off, or sends too much. */
  async run(): Promise<void> {
    const type = typeOf(this.#options.incoming);
    if (type === 'text/event-stream') return this.#stream();
    if (type === 'application/json') return this.#message();
    return this.#asItIs();
  }

  #head(length?: number): void {
    const { incoming, response } = this.#options;
    response.statusCode = incoming.statusCode ?? 502;
    for (const [name, value] of Object.entries(incoming.headers)) {
      if (value !== undefined && !ofConnection.has(name)) response.setHeader(name, value);
    }
    if (length !== undefined) response.setHeader('content-length', length);
    response.flushHeaders();
  }

  async #message(): Promise<void> {
    const { incoming, response, receiving, warn } = this.#options;
    const bytes = await bytesOf(incoming);
    const passed = bytes.length === 0 ? ({ do: 'forward' } as const) : passServerMessage(bytes, receiving);
    const body = passed.do === 'replace' ? Buffer.from(passed.text) : bytes;
    if (passed.do === 'drop') {
      warn(`dropped an answer of the server: ${passed.why}`);
      throw new Error(`its answer cannot be read safely: ${passed.why}`);
    }
    this.#head(body.length);
    response.end(body);
  }

  async #stream(): Promise<void> {
    const { incoming, response, receiving, warn } = this.#options;
    this.#head();
    for await (const event of eventsOf(incoming)) {
      const data = dataOf(event);
      const passed =
        data === '' ? ({ do: 'forward' } as const) : passServerMessage(Buffer.from(data), receiving);
      if (passed.do === 'drop') warn(`dropped an event of the server: ${passed.why}`);
      else await this.#write(passed.do === 'replace' ? Buffer.from(withData(event, passed.text)) : event);
    }
    response.end();
  }

  async #asItIs(): Promise<void> {
    this.#head();
    for await (const chunk of this.#options.incoming as AsyncIterable<Buffer>) await this.#write(chunk);
    this.#options.response.end();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const { response } = this.#options;
    if (response.destroyed) throw new Error('the client left');
    if (response.write(bytes)) return;
    const stop = new AbortController();
    const { signal } = stop;
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]).finally(
      () => stop.abort(),
    );
  }
}

const ofConnection = new Set(
  'connection keep-alive transfer-encoding content-length trailer upgrade'.split(' '),
);
