/** A real SMTP server on loopback that keeps what it receives (npm smtp-server). */
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { AddressInfo } from 'node:net';
import type { Issued } from '../../support/certificates.ts';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** RFC 5322, as it came. */
  readonly raw: string;
  readonly user: string | undefined;
  readonly secure: boolean;
}

export interface Mailbox {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
  /** Resolves once this many have come. */
  until(count: number): Promise<void>;
  /** The replies to the next messages, an SMTP code each: they are received and refused. */
  readonly refuseNext: number[];
  close(): Promise<void>;
}

export interface MailboxOptions {
  readonly certificate?: Pick<Issued, 'cert' | 'key'>;
  /** TLS from the first byte. */
  readonly secure?: boolean;
  readonly users?: Readonly<Record<string, string>>;
  /** Recipients that do not exist here. */
  readonly unknown?: readonly string[];
}

const replied = (code: number, text: string): Error => Object.assign(new Error(text), { responseCode: code });

export async function startMailbox(options: MailboxOptions = {}): Promise<Mailbox> {
  const { certificate, secure = false, users, unknown = [] } = options;
  const mails: ReceivedMail[] = [];
  const refuseNext: number[] = [];
  let waiting: { count: number; resolve: () => void }[] = [];
  const settings: SMTPServerOptions = {
    ...(certificate === undefined ? { disabledCommands: ['STARTTLS'] } : certificate),
    secure,
    authOptional: users === undefined,
    allowInsecureAuth: certificate === undefined,
    onAuth: ({ username = '', password }, _session, done) => {
      if (users?.[username] === password) done(null, { user: username });
      else done(replied(535, 'no such user'));
    },
    onRcptTo: ({ address }, _session, done) => {
      if (unknown.includes(address)) done(replied(550, `no mailbox ${address}`));
      else done();
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const code = refuseNext.shift();
        if (code !== undefined) return done(replied(code, 'not now'));
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString(),
          user: session.user as string | undefined,
          secure: session.secure,
        });
        done();
        for (const each of waiting) if (mails.length >= each.count) each.resolve();
        waiting = waiting.filter(({ count }) => mails.length < count);
      });
    },
  };
  const server = new SMTPServer(settings);
  server.on('error', () => undefined); // a client that breaks off
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    until: (count) =>
      mails.length >= count ? Promise.resolve() : new Promise((resolve) => waiting.push({ count, resolve })),
    refuseNext,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The value of a header, unfolded. */
export const headerOf = ({ raw }: Pick<ReceivedMail, 'raw'>, name: string): string | undefined =>
  new RegExp(`^${name}: *((?:.*)(?:\\r\\n[ \\t].*)*)`, 'im')
    .exec(raw.split('\r\n\r\n', 1)[0] ?? '')?.[1]
    ?.replace(/\r\n\s/g, ' ');

/** The bytes of the attachment with this file name, from base64. */
export function attachmentOf({ raw }: Pick<ReceivedMail, 'raw'>, filename: string): Buffer | undefined {
  const part = raw
    .split(/\r\n--[^\r\n]+\r\n/)
    .find((each) => each.includes(`filename=${filename}`) || each.includes(`filename="${filename}"`));
  const body = part?.split('\r\n\r\n').slice(1).join('').split('\r\n--', 1)[0];
  return body === undefined ? undefined : Buffer.from(body, 'base64');
}

/** A subject as a mail program shows it (RFC 2047, words in base64 or quoted printable). */
export function subjectOf(mail: Pick<ReceivedMail, 'raw'>): string {
  const text = (headerOf(mail, 'Subject') ?? '').replace(/(\?=) +(=\?)/g, '$1$2');
  return text.replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, kind: string, word: string) =>
    kind.toLowerCase() === 'b'
      ? Buffer.from(word, 'base64').toString()
      : decodeURIComponent(word.replaceAll('_', ' ').replaceAll('=', '%')),
  );
}
