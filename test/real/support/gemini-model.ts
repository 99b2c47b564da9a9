/**
 * A stand-in for the model of Gemini CLI, on loopback: `generateContent`, and `streamGenerateContent` as server-sent events.
 * It asks for the given calls one after the other, and ends the turn after the last one.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ModelCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface GeminiModel {
  /** For `GOOGLE_GEMINI_BASE_URL`. */
  readonly origin: string;
  /** What the client reported of each call, in order, as JSON. */
  readonly results: readonly string[];
  close(): void;
}

interface Options {
  /** Runs before call `index` is asked for, such as to stop a plane in the middle of a run. */
  before?(index: number): Promise<void> | void;
}

/** The parts of a request that matter here; the client is trusted. */
interface Asked {
  readonly contents?: readonly { readonly parts?: readonly Readonly<Record<string, unknown>>[] }[];
  readonly tools?: readonly { readonly functionDeclarations?: readonly { readonly name: string }[] }[];
}

export async function geminiModel(
  calls: readonly ModelCall[],
  { before }: Options = {},
): Promise<GeminiModel> {
  const results: string[] = [];
  const partsFor = async (asked: Asked): Promise<object[]> => {
    const found = (asked.contents ?? [])
      .flatMap(({ parts = [] }) => parts)
      .flatMap(({ functionResponse }) =>
        functionResponse === undefined ? [] : [JSON.stringify(functionResponse)],
      );
    const call = calls[found.length];
    const names = (asked.tools ?? []).flatMap(({ functionDeclarations = [] }) => functionDeclarations);
    // a request without tools is about something else, such as who speaks next
    if (names.length > 0) results.splice(0, results.length, ...found);
    if (call === undefined || names.length === 0) return [{ text: 'Done.' }];
    await before?.(found.length);
    return [{ functionCall: { id: `call_${found.length}`, ...call } }];
  };
  const server = createServer((request, response) => {
    // the client gives up at this code, and a test that waits for an effect fails
    const fail = (cause: unknown) => response.writeHead(400).end(String(cause));
    const answer = async (body: string) => {
      const path = (request.url ?? '').split('?', 1)[0] ?? '';
      const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
      if (path.endsWith(':countTokens')) return response.end(JSON.stringify({ totalTokens: 10 }));
      const parts = await partsFor(JSON.parse(body) as Asked);
      const content = { role: 'model', parts };
      const reply = JSON.stringify({
        candidates: [{ content, finishReason: 'STOP', index: 0 }],
        usageMetadata,
      });
      const isStream = path.endsWith(':streamGenerateContent');
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      return response.end(isStream ? `data: ${reply}\n\n` : reply);
    };
    void bodyOf(request).then(answer).catch(fail);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    results,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request as AsyncIterable<Buffer>) text += chunk.toString();
  return text;
}
