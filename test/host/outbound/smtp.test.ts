import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { smtpMembers, smtpOf, type SmtpFile } from '../../../src/host/outbound/smtp.ts';
import { explain } from '../../../src/service/call/explain.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'gov-smtp-'));
const path = join(dataDir, 'plane.json');
const smtp: SmtpFile = { host: 'smtp.example.com', from: 'Reports <reports@example.com>' };
const read = (file: SmtpFile | undefined, env = {}) =>
  smtpOf(file === undefined ? {} : { smtp: file }, { dataDir, path, env });

describe('the mail server of an installation', () => {
  it('is absent by default', () => {
    expect(read(undefined)).toBeNull();
  });

  it('uses STARTTLS on port 587 unless told otherwise', () => {
    expect(read(smtp)).toEqual({
      host: 'smtp.example.com',
      port: 587,
      tls: 'starttls',
      credential: null,
      from: 'Reports <reports@example.com>',
      authorities: null,
    });
    expect(read({ ...smtp, tls: 'implicit' })).toMatchObject({ port: 465 });
  });

  it('takes the password from the environment before the file, and the file only if its owner alone reads it', () => {
    const passwordFile = join(dataDir, 'smtp.password');
    writeFileSync(passwordFile, 'from the file\n', { mode: 0o600 });
    const withUser = { ...smtp, user: 'gov', passwordFile: 'smtp.password' };
    expect(read(withUser)?.credential).toEqual({ user: 'gov', password: 'from the file' });
    expect(read(withUser, { GOV_SMTP_PASSWORD: 'from the environment' })?.credential?.password).toBe(
      'from the environment',
    );
    chmodSync(passwordFile, 0o644);
    expect(() => read(withUser)).toThrow('to be readable by its owner only');
  });

  it('refuses a user without a password', () => {
    expect(() => read({ ...smtp, user: 'gov' })).toThrow(
      `${path} /smtp: expected passwordFile or GOV_SMTP_PASSWORD`,
    );
  });

  it('refuses mail in clear to another machine', () => {
    expect(() => read({ ...smtp, tls: 'none' })).toThrow('none is for a server on this machine');
    for (const host of ['localhost', '127.0.0.1', '::1'])
      expect(read({ ...smtp, host, tls: 'none' })).toMatchObject({ port: 25 });
  });

  it('refuses authorities that are no PEM file', () => {
    expect(() => read({ ...smtp, ca: 'nothing.pem' })).toThrow(
      '/smtp/ca: expected a PEM file with certificates',
    );
  });

  it.each([
    ['reports@example.com', true],
    ['Reports of gov <reports@example.com>', true],
    ['Reports <reports@example.com>, Mallory <m@example.com>', false],
    ['Reports\r\nBcc: m@example.com <reports@example.com>', false],
    ['reports', false],
    ['<reports@example.com>', false],
  ])('knows whether %j is a sender', (from, isValid) => {
    const schema = { type: 'object', properties: smtpMembers };
    const { errors } = explain(schema, { smtp: { ...smtp, from } }, { in: 'body' });
    expect(errors.length === 0).toBe(isValid);
  });
});
