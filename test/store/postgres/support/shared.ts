/**
 * The PostgreSQL that all test files of a run have together, each in databases of its own: started by the process that
 * runs the tests when a file first asks for it, which is told where by GOV_TEST_POSTGRES_ASK. A file that kills its
 * server starts one of its own (`startServer`).
 */
import { connect, createServer, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { missingServer, sharedServer, startServer, type Server, type Shared } from './server.ts';

const asked = 'GOV_TEST_POSTGRES_ASK';
/** More than a server may take to start (`server.ts`); a test file that waits longer fails, and says why. */
const answerMs = 90_000;

interface Missing {
  readonly missing: string;
}

/** The server of the run, or why there is none. Stopping it does nothing. */
export async function runServer(): Promise<Server | Missing> {
  const missing = missingServer();
  if (missing !== null) return { missing };
  const port = Number(process.env[asked]);
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(answerMs, () => {
    socket.destroy(new Error(`the server of the run did not answer within ${answerMs / 1000} s`));
  });
  const answer = JSON.parse(await text(socket)) as Shared | Missing | { failed: string };
  if ('failed' in answer) throw new Error(answer.failed);
  return 'missing' in answer ? answer : sharedServer(answer);
}

const only = ({ url, template, copies }: Shared): Shared => ({ url, template, copies });

/** Once per run of the tests (`globalSetup`). Gives what ends it. */
export async function setup(): Promise<() => Promise<void>> {
  let started: ReturnType<typeof startServer> | undefined;
  const answering = createServer((socket) => {
    started ??= startServer({ settings: { max_connections: 200, max_wal_size: '256MB' } });
    started.then(
      (server) => socket.end(JSON.stringify('missing' in server ? server : only(server))),
      (error: unknown) => socket.end(JSON.stringify({ failed: String(error) })),
    );
  });
  await new Promise<void>((resolve) => answering.listen(0, '127.0.0.1', resolve));
  process.env[asked] = String((answering.address() as AddressInfo).port);
  return async () => {
    answering.close();
    const server = await started;
    if (server !== undefined && !('missing' in server)) await server.stop();
  };
}
