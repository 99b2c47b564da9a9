import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { mailSender } from '../../../src/host/outbound/mail.ts';
import type { SmtpConfig } from '../../../src/host/outbound/smtp.ts';
import type { OutboundMail } from '../../../src/service/hosting/outbound.ts';
import { makeAuthority, type Authority, type Issued } from '../../support/certificates.ts';
import {
  attachmentOf,
  headerOf,
  startMailbox,
  subjectOf,
  type Mailbox,
  type MailboxOptions,
} from './mailbox.ts';

let authority: Authority;
let certificate: Issued;
let mailbox: Mailbox | undefined;

beforeAll(() => {
  authority = makeAuthority(mkdtempSync(join(tmpdir(), 'gov-mail-')));
  certificate = authority.issue('mail');
});
afterEach(async () => {
  await mailbox?.close();
  mailbox = undefined;
});

const bytes = randomBytes(100_000);
const message: OutboundMail = {
  to: 'ada@example.org',
  subject: 'Decisions and exceptions, März 2026',
  text: 'The report is attached.\n',
  messageId: 'dlv_1',
  attachments: [{ filename: 'report.pdf', mediaType: 'application/pdf', bytes }],
};

const config = (port: number, change: Partial<SmtpConfig> = {}): SmtpConfig => ({
  host: '127.0.0.1',
  port,
  tls: 'starttls',
  credential: { user: 'gov', password: 'a long password' },
  from: 'Reports <reports@gov.example>',
  authorities: authority.cert,
  ...change,
});

async function start(options: MailboxOptions = {}): Promise<Mailbox> {
  mailbox = await startMailbox({ certificate, users: { gov: 'a long password' }, ...options });
  return mailbox;
}

describe('mail through an SMTP server', () => {
  it.each([
    ['starttls', false],
    ['implicit', true],
  ] as const)(
    'arrives whole by %s, with a credential, one recipient and the given Message-ID',
    async (tls, secure) => {
      const { port, mails } = await start({ secure });
      expect(await mailSender(config(port, { tls }))(message)).toMatchObject({
        ok: true,
        statusCode: 250,
        failed: null,
      });
      const [mail] = mails;
      if (mail === undefined) throw new Error('expected a mail');
      expect(mail).toMatchObject({
        from: 'reports@gov.example',
        to: ['ada@example.org'],
        user: 'gov',
        secure: true,
      });
      expect(headerOf(mail, 'Message-ID')).toBe('<dlv_1@gov.example>');
      expect(headerOf(mail, 'Auto-Submitted')).toBe('auto-generated');
      expect(headerOf(mail, 'From')).toBe('Reports <reports@gov.example>');
      expect(headerOf(mail, 'To')).toBe('ada@example.org');
      expect(attachmentOf(mail, 'report.pdf')?.equals(bytes)).toBe(true);
    },
  );

  it('goes in clear to a server on this machine where the operator says so', async () => {
    mailbox = await startMailbox();
    const sender = mailSender(config(mailbox.port, { tls: 'none', credential: null, authorities: null }));
    expect(await sender(message)).toMatchObject({ ok: true });
    expect(mailbox.mails).toMatchObject([{ secure: false, user: undefined }]);
  });

  it('is never sent in clear where TLS is required', async () => {
    mailbox = await startMailbox();
    const answer = await mailSender(config(mailbox.port))(message);
    expect(answer).toMatchObject({ ok: false, isFinal: false, failed: 'no TLS with the mail server (500)' });
    expect(mailbox.mails).toEqual([]);
  });

  it('is not sent to a server whose certificate nobody vouches for', async () => {
    const { port, mails } = await start();
    const answer = await mailSender(config(port, { authorities: null }))(message);
    expect(answer).toMatchObject({ ok: false, isFinal: false });
    expect(mails).toEqual([]);
  });

  it('a refused recipient is final, and the answer quotes neither the server nor the address', async () => {
    const { port } = await start({ unknown: ['ada@example.org'] });
    const answer = await mailSender(config(port))(message);
    expect(answer).toMatchObject({ ok: false, statusCode: 550, isFinal: true });
    expect(answer.failed).toBe('the mail server refused the sender or the recipient (550)');
  });

  it('a refusal for now may be repeated, a permanent one not', async () => {
    const { port, mails, refuseNext } = await start();
    refuseNext.push(451, 554);
    const send = mailSender(config(port));
    expect(await send(message)).toMatchObject({ ok: false, statusCode: 451, isFinal: false });
    expect(await send(message)).toMatchObject({ ok: false, statusCode: 554, isFinal: true });
    expect(await send(message)).toMatchObject({ ok: true });
    expect(mails).toHaveLength(1);
  });

  it('a refused credential may be repeated, because the operator can repair it', async () => {
    const { port } = await start();
    const answer = await mailSender(config(port, { credential: { user: 'gov', password: 'wrong' } }))(
      message,
    );
    expect(answer).toMatchObject({ ok: false, statusCode: 535, isFinal: false });
    expect(JSON.stringify(answer)).not.toContain('wrong');
  });

  it('a server that closes the connection without a word is a failure that may be repeated', async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await mailSender(config(port))(message)).toMatchObject({
      ok: false,
      statusCode: null,
      isFinal: false,
    });
    await new Promise((resolve) => server.close(resolve));
    expect(await mailSender(config(port))(message)).toMatchObject({
      ok: false,
      isFinal: false,
      failed: 'no connection to the mail server',
    });
  });

  it('a server that never ends its greeting is left long before its megabytes end', async () => {
    const line = `220-${'y'.repeat(1000)}\r\n`;
    let sent = 0;
    const server = createServer((socket) => {
      socket.on('error', () => {});
      const push = (): void => {
        if (socket.destroyed || sent > 64 * 1024 * 1024) return;
        sent += line.length;
        if (socket.write(line)) setImmediate(push);
        else socket.once('drain', push);
      };
      push();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await mailSender(config(port))(message)).toMatchObject({
      ok: false,
      failed: 'the mail server answered with no SMTP',
      isFinal: false,
    });
    expect(sent).toBeLessThan(8 * 1024 * 1024);
    await new Promise((resolve) => server.close(resolve));
  });

  it.each([
    ['is plain', 'Decisions and exceptions, 2026-03-01'],
    ['has an umlaut', message.subject],
    ['is an encoded word with a bidi override', 'Pay =?utf-8?q?=E2=80=AEevil?= now'],
    ['is an encoded word in base64', '=?UTF-8?B?4oCu4oCL?='],
    ['is cut inside of an encoded word', `${'x'.repeat(55)} =?utf-8?q?=0d=0aBcc:_m=40example.org?=`],
    ['is one word of 5,000 characters', 'x'.repeat(5000)],
    ['is one word of escapes', '\\u{e0041}'.repeat(200)],
    ['has 400 emoji', '\u{1f648}'.repeat(400)],
    ['has a header after NEL', 'a\u0085Bcc: mallory@example.org'],
  ])('a subject that %s is shown as it is, in short lines', async (_, subject) => {
    const { port, mails } = await start();
    expect(await mailSender(config(port))({ ...message, subject })).toMatchObject({ ok: true });
    const [mail] = mails;
    if (mail === undefined) throw new Error('expected a mail');
    expect(subjectOf(mail)).toBe(subject);
    const head = mail.raw.split('\r\n\r\n', 1)[0] ?? '';
    expect(Math.max(...head.split('\r\n').map(({ length }) => length))).toBeLessThanOrEqual(78);
    expect(head).not.toMatch(/^Bcc:/im);
  });

  it.each<Partial<OutboundMail>>([
    { subject: 'a\r\nBcc: mallory@example.org' },
    { to: 'ada@example.org\nRCPT TO:<mallory@example.org>' },
    { messageId: 'a\r\nX-Header: 1' },
    { attachments: [{ filename: 'a\r\nContent-Type: text/html', mediaType: 'text/csv', bytes }] },
  ])('a line break in a header is refused before the server hears of it (case %#)', async (change) => {
    const { port, mails } = await start();
    const answer = await mailSender(config(port))({ ...message, ...change });
    expect(answer).toMatchObject({ ok: false, isFinal: true, statusCode: null });
    expect(answer.failed).toContain('expected no control characters');
    expect(mails).toEqual([]);
  });
});
