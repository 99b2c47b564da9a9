/**
 * The mail server of an installation, the member `smtp` of plane.json and service.json. The password comes from
 * GOV_SMTP_PASSWORD, or from a file that only its owner reads. Proven by `test/host/outbound/smtp.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JsonSchema } from '../../service/call/explain.ts';
import { secretFile, secretOf } from '../config/secrets.ts';
import { filePath, invalid, oneOf, text, whole, type Variables } from '../config/layers.ts';

const tlsModes = ['starttls', 'implicit', 'none'] as const;

export interface SmtpFile {
  readonly host: string;
  /** Absent: 587 for `starttls`, 465 for `implicit`, 25 for `none`. */
  readonly port?: number;
  /** `starttls`, the default, sends nothing without TLS. `none` is for a server on this machine. */
  readonly tls?: (typeof tlsModes)[number];
  readonly user?: string;
  /** Relative to the data directory. */
  readonly passwordFile?: string;
  /** Sender, such as `Reports <reports@example.com>`. */
  readonly from: string;
  /** Path of a PEM file with additional authorities, relative to the data directory. */
  readonly ca?: string;
}

/** An address that mail can be sent to: ASCII, one `@`, no name and no comment. Also for the targets of deliveries. */
const address = String.raw`[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?`;
const name = String.raw`[^\u0000-\u001f\u007f<>",;:@]{1,100}`;

export const smtpMembers = {
  smtp: {
    type: 'object',
    required: ['host', 'from'],
    properties: {
      host: { type: 'string', pattern: '^[A-Za-z0-9_.:-]+$', maxLength: 253 },
      port: whole(1, 65_535),
      tls: oneOf(tlsModes),
      user: text(255),
      passwordFile: filePath,
      from: { type: 'string', pattern: `^(?:${name} <${address}>|${address})$`, maxLength: 400 },
      ca: filePath,
    },
    additionalProperties: false,
  },
} satisfies Readonly<Record<string, JsonSchema>>;

export interface SmtpConfig {
  readonly host: string;
  readonly port: number;
  readonly tls: (typeof tlsModes)[number];
  readonly credential: { readonly user: string; readonly password: string } | null;
  readonly from: string;
  /** PEM. Null: the authorities of Node only. */
  readonly authorities: string | null;
}

const ports = { starttls: 587, implicit: 465, none: 25 } as const;

/** Null where no mail server is configured. VALIDATION_ERROR names the member or the variable. */
export function smtpOf(
  { smtp }: { readonly smtp?: SmtpFile },
  { dataDir, path, env }: { readonly dataDir: string; readonly path: string; readonly env: Variables },
): SmtpConfig | null {
  if (smtp === undefined) return null;
  const { host, tls = 'starttls', port = ports[tls], user, passwordFile, from, ca } = smtp;
  if (tls === 'none' && !isLoopback(host)) {
    throw invalid(
      `${path} /smtp/tls`,
      `starttls or implicit for ${host}; none is for a server on this machine`,
    );
  }
  const password =
    secretOf(env, 'GOV_SMTP_PASSWORD') ??
    (passwordFile === undefined ? null : secretFile(resolve(dataDir, passwordFile)));
  if (user !== undefined && password === null) {
    throw invalid(`${path} /smtp`, 'passwordFile or GOV_SMTP_PASSWORD together with user, got no password');
  }
  return {
    host,
    port,
    tls,
    credential: user === undefined || password === null ? null : { user, password: password.value },
    from,
    authorities: ca === undefined ? null : pemOf(resolve(dataDir, ca), `${path} /smtp/ca`),
  };
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.[0-9]{1,3}){3}$/.test(host);

function pemOf(file: string, from: string): string {
  try {
    const found = readFileSync(file, 'utf8');
    if (found.includes('-----BEGIN CERTIFICATE-----')) return found;
  } catch (cause) {
    throw invalid(from, `a PEM file with certificates, got ${file}`, cause);
  }
  throw invalid(from, `a PEM file with certificates, got ${file}`);
}
