/**
 * Sends mail through the server of the installation (RFC 5321, RFC 8314): over TLS, with one recipient a message, and
 * the same Message-ID however often a message is sent. Loads nodemailer with the first message. Proven by
 * `test/host/outbound/mail.test.ts` against a real SMTP server.
 */
import type { OutboundAnswer, OutboundMail } from '../../service/hosting/outbound.ts';
import type { SmtpConfig } from './smtp.ts';
import { subjectHeader } from './subject.ts';

/** Over everything from the connection to the reply for the message. */
const sendMs = 60_000;
const stepMs = 10_000;

export function mailSender(config: SmtpConfig): (message: OutboundMail) => Promise<OutboundAnswer> {
  let transport: Promise<Transport> | undefined;
  return async (message) => {
    const startedAt = performance.now();
    const outcome = await sent(message, config, () => (transport ??= open(config)));
    return { retryAfterMs: null, ...outcome, durationMs: Math.round(performance.now() - startedAt) };
  };
}

type Outcome = Omit<OutboundAnswer, 'durationMs' | 'retryAfterMs'>;

async function sent(
  message: OutboundMail,
  { from }: SmtpConfig,
  transport: () => Promise<Transport>,
): Promise<Outcome> {
  const fault = headerFault(message);
  if (fault !== null) return { ok: false, statusCode: null, failed: fault, isFinal: true };
  const { to, subject, text, messageId, attachments } = message;
  const signal = AbortSignal.timeout(sendMs);
  try {
    const { response } = await (
      await transport()
    ).sendMail({
      from,
      to: { name: '', address: to },
      subject: subjectHeader(subject),
      text,
      messageId: `<${messageId}@${domainOf(from)}>`,
      // an answer by a machine would answer nobody (RFC 3834)
      headers: { 'Auto-Submitted': 'auto-generated' },
      attachments: attachments.map(({ filename, mediaType, bytes }) => ({
        filename,
        contentType: mediaType,
        content: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      })),
      signal,
    });
    return { ok: true, statusCode: replyOf(response), failed: null, isFinal: false };
  } catch (error) {
    return failure(error, signal.aborted);
  }
}

/** The domain of the sender makes the id unique in the world (RFC 5322 section 3.6.4). */
const domainOf = (from: string): string => /@([A-Za-z0-9.-]+)/.exec(from)?.[1] ?? 'localhost';

const replyOf = (response: unknown): number | null => {
  const [digits] = /^[2-5][0-9]{2}/.exec(String(response)) ?? [];
  return digits === undefined ? null : Number(digits);
};

/** A line break in one of these would begin another header. Subjects are encoded; refusing is certain. */
function headerFault({ to, subject, messageId, attachments }: OutboundMail): string | null {
  const texts = { to, subject, messageId, filename: attachments.map(({ filename }) => filename).join('') };
  for (const [name, value] of Object.entries(texts)) {
    // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
    if (/[\u0000-\u001f\u007f\u2028\u2029]/.test(value))
      return `expected no control characters in the ${name} of a mail`;
  }
  return null;
}

const troubles: Readonly<Record<string, string>> = {
  EAUTH: 'the mail server refused the credential of this installation',
  ENOAUTH: 'the mail server expects a credential, and this installation has none',
  EDNS: 'the mail server has no address',
  ETLS: 'no TLS with the mail server',
  ETIMEDOUT: 'the mail server did not answer in time',
  ECONNECTION: 'the mail server closed the connection',
  ESOCKET: 'no connection to the mail server',
  EPROTOCOL: 'the mail server answered with no SMTP',
  EENVELOPE: 'the mail server refused the sender or the recipient',
  EMESSAGE: 'the mail server refused the message',
};

/** What the server said is not repeated: it may quote the message. */
function failure(error: unknown, timedOut: boolean): Outcome {
  const { code = '', responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
  const statusCode = typeof responseCode === 'number' ? responseCode : null;
  const words = timedOut
    ? 'the mail server did not answer in time'
    : (troubles[String(code)] ?? 'the mail could not be sent');
  return {
    ok: false,
    statusCode,
    failed: statusCode === null ? words : `${words} (${statusCode})`,
    // a 5yz reply is permanent (RFC 5321 section 4.2.1); but the operator can repair a credential
    isFinal: (code === 'EENVELOPE' || code === 'EMESSAGE') && statusCode !== null && statusCode >= 500,
  };
}

type Transport = Awaited<ReturnType<typeof open>>;

async function open({ host, port, tls, credential, authorities }: SmtpConfig) {
  const [{ createTransport }, { getCACertificates }] = await Promise.all([
    import('nodemailer'),
    import('node:tls'),
  ]);
  return createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(credential === null ? {} : { auth: { user: credential.user, pass: credential.password } }),
    tls: {
      minVersion: 'TLSv1.2',
      // a variable of the environment must not switch the check off
      rejectUnauthorized: true,
      ...(authorities === null ? {} : { ca: [...getCACertificates('default'), authorities] }),
    },
    connectionTimeout: stepMs,
    greetingTimeout: stepMs,
    socketTimeout: sendMs,
    // no part of a message may name a file or a URL
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}
