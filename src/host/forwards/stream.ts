/**
 * Syslog over TLS (RFC 5425) and TCP (RFC 6587), both with octet counting. Syslog has no acknowledgement: what is in
 * the buffers of a connection that breaks is lost. Here the sender ends its side of the connection at the latest every
 * `limits.forwardConfirmSeconds`, and a receiver that has read everything ends its own. Until then the cursor stays,
 * and a broken connection is sent again. Proven by `test/host/forwards/stream.test.ts`.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { limits } from '../../contract/limits.ts';
import { octetCounted } from '../../core/forwards/syslog.ts';
import type { StreamTarget } from './config.ts';
import { secureContextOf } from './secure.ts';
import {
  failed,
  reasonOf,
  type Batch,
  type TransportFailure,
  type SendOutcome,
  type Transport,
} from './transport.ts';

const timeoutMs = limits.forwardTimeoutSeconds * 1000;

/** A receiver that ends first may have left unread what was on its way. */
const endedEarly =
  'the receiver ended the connection before gov did, so it may not have read everything; ' +
  'set confirm to none for a receiver that always does';

/** An open connection, and how it ended. */
interface Connection {
  readonly socket: Socket;
  /** Resolves once: null where the receiver ended it in order, else the reason. */
  readonly ended: Promise<string | null>;
  /** Whether the receiver has ended its side, before or after we ended ours. */
  readonly isEnded: () => boolean;
}

export class StreamTransport implements Transport {
  readonly #target: StreamTarget;
  #connection: Connection | null = null;

  constructor(target: StreamTarget) {
    this.#target = target;
  }

  async send({ lines }: Batch): Promise<SendOutcome> {
    if (lines.length === 0) return { ok: true, isKept: this.#connection === null };
    try {
      this.#connection ??= await open(this.#target);
      await write(this.#connection, Buffer.concat(lines.map(({ text }) => octetCounted(text))));
      return { ok: true, isKept: false };
    } catch (error) {
      return this.#broken(reasonOf(error));
    }
  }

  async confirm(patienceMs: number): Promise<SendOutcome> {
    const connection = this.#connection;
    if (connection === null) return { ok: true, isKept: true };
    this.#connection = null;
    const { socket, ended } = connection;
    const isPatient = this.#target.confirm === 'close';
    if (isPatient && connection.isEnded()) {
      socket.destroy();
      return failed(endedEarly);
    }
    socket.end();
    const how = await within(ended, isPatient ? patienceMs : 1000);
    socket.destroy();
    if (how === null || (how === 'late' && !isPatient)) return { ok: true, isKept: true };
    return how === 'late'
      ? failed(
          `the receiver did not end the connection within ${patienceMs / 1000} s, so it may not have read ` +
            'everything; set confirm to none for a receiver that never does',
        )
      : failed(`the connection broke: ${how}`);
  }

  #broken(why: string): TransportFailure {
    this.close();
    return failed(why);
  }

  close(): void {
    this.#connection?.socket.destroy();
    this.#connection = null;
  }
}

async function open(target: StreamTarget): Promise<Connection> {
  const { host, port, isEncrypted, tls } = target;
  const serverName = tls.serverName ?? (isIP(host) === 0 ? host : undefined);
  const socket = isEncrypted
    ? connectTls({
        host,
        port,
        secureContext: secureContextOf(tls),
        ...(serverName === undefined ? {} : { servername: serverName }),
      })
    : connectTcp({ host, port });
  let isEnded = false;
  let broke: (reason: string | null) => void = () => {};
  const ended = new Promise<string | null>((resolve) => {
    broke = (reason) => {
      isEnded = true;
      resolve(reason);
    };
  });
  let fault: string | null = null;
  socket.on('error', (error) => (fault ??= reasonOf(error)));
  socket.on('end', () => broke(fault));
  socket.on('close', () => broke(fault ?? 'closed'));
  socket.resume(); // a receiver of syslog says nothing
  const opened = new Promise<null>((resolve) =>
    socket.once(isEncrypted ? 'secureConnect' : 'connect', () => resolve(null)),
  );
  const early = ended.then((reason) => reason ?? 'the receiver closed the connection');
  const outcome = await within(Promise.race([opened, early]), timeoutMs);
  if (outcome === null) return { socket, ended, isEnded: () => isEnded };
  socket.destroy();
  throw new Error(
    outcome === 'late' ? `no connection to ${host}:${port} within ${timeoutMs / 1000} s` : outcome,
  );
}

/** Resolves once the system has the bytes: a receiver that does not read stops us here. */
async function write({ socket, ended }: Connection, bytes: Buffer): Promise<void> {
  const written = new Promise<null>((resolve, reject) => {
    socket.write(bytes, (error) => (error === null || error === undefined ? resolve(null) : reject(error)));
  });
  const early = ended.then((reason) => reason ?? 'the receiver closed the connection');
  const outcome = await within(Promise.race([written, early]), timeoutMs);
  if (outcome === null) return;
  throw new Error(outcome === 'late' ? `the receiver has taken nothing for ${timeoutMs / 1000} s` : outcome);
}

async function within<Result>(result: Promise<Result>, ms: number): Promise<Result | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
