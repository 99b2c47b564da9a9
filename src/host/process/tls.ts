/**
 * The TLS certificate of a listener: read from files, checked before use, and read again on SIGHUP. If the new
 * certificate is invalid, the server keeps the former one, and health reports the reason. Connections continue.
 * TLS 1.2 at least. Proven by `test/host/process/tls.test.ts`.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { GovError } from '../../contract/problems.ts';
import type { Log } from '../../service/call/log.ts';
import { refuseReadableByOthers } from '../files/private.ts';
import { invalid, type SettingValue, type Variables } from '../config/layers.ts';
import { editedText } from '../../core/text.ts';

export interface TlsFiles {
  /** The certificate with its chain, PEM. */
  readonly cert: string;
  /** Its private key, PEM, without a passphrase. */
  readonly key: string;
  /** Authorities of clients. With them every client needs a certificate. */
  readonly clientCa: string | null;
  /** The credentials folder of systemd, which protects its files by other means than their mode. */
  readonly credentials?: string | undefined;
}

/** The files of `--tls-cert`, `--tls-key`, `--tls-client-ca`. Null where there is no TLS. */
export function tlsFilesOf(
  picked: Readonly<Record<'cert' | 'key' | 'clientCa', SettingValue<string | null>>>,
  { dataDir, file, env }: { readonly dataDir: string; readonly file: string; readonly env: Variables },
): TlsFiles | null {
  // a path in the configuration file is relative to that file
  const path = ({ value, from }: SettingValue<string | null>): string | null =>
    value === null ? null : from === file ? resolve(dataDir, value) : resolve(value);
  const [cert, key, clientCa] = [path(picked.cert), path(picked.key), path(picked.clientCa)];
  if (cert !== null && key !== null) {
    return { cert, key, clientCa, credentials: env['CREDENTIALS_DIRECTORY'] };
  }
  if (cert === null && key === null && clientCa === null) return null;
  const given = Object.values(picked).find(({ value }) => value !== null);
  throw invalid(given?.from ?? file, 'a certificate and its key together, got one without the other');
}

export interface Certificate {
  readonly context: SecureContextOptions;
  readonly validFromMs: number;
  readonly validToMs: number;
  readonly subject: string;
}

/**
 * Reads and checks the files. VALIDATION_ERROR where a file cannot be read or has other content, FORBIDDEN
 * where others may read the key. Does not check the validity period.
 */
export function readCertificate({ cert, key, clientCa, credentials }: TlsFiles): Certificate {
  const isGuarded = credentials !== undefined && key.startsWith(resolve(credentials) + sep);
  const keyText = read(key);
  if (!isGuarded) refuseReadableByOthers(key);
  const context: SecureContextOptions = {
    cert: read(cert),
    key: keyText,
    minVersion: 'TLSv1.2',
    ...(clientCa === null ? {} : { ca: read(clientCa) }),
  };
  const parsed = parse(cert, 'a certificate', () => new X509Certificate(context.cert as string));
  // the text may be a secret, so the error omits the message of OpenSSL
  const ownKey = parse(key, 'a private key without a passphrase', () => createPrivateKey(keyText));
  if (!parsed.checkPrivateKey(ownKey)) {
    throw new GovError('VALIDATION_ERROR', `expected the key of ${cert} in ${key}, got another key`);
  }
  parse(clientCa ?? cert, 'certificates that OpenSSL takes', () => createSecureContext(context));
  const [validFromMs, validToMs] = [Date.parse(parsed.validFrom), Date.parse(parsed.validTo)];
  return { context, validFromMs, validToMs, subject: parsed.subject ?? parsed.subjectAltName ?? '' };
}

function read(path: string): string {
  try {
    return editedText(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new GovError('VALIDATION_ERROR', `expected a PEM file at ${path}, which cannot be read`, { cause });
  }
}

function parse<Result>(path: string, expected: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    throw new GovError('VALIDATION_ERROR', `expected ${expected} in ${path}, got something else`, { cause });
  }
}

const dayMs = 24 * 3600 * 1000;
/** How many days before expiry health warns. */
const warnDays = 7;

/** Why a certificate is invalid now or expires soon. Null where it is valid. */
export function validityFault({ validFromMs, validToMs }: Certificate, nowMs: number): string | null {
  const time = (ms: number): string => new Date(ms).toISOString();
  if (nowMs < validFromMs) return `tls_certificate_not_yet_valid: until ${time(validFromMs)}`;
  if (nowMs >= validToMs) return `tls_certificate_expired: since ${time(validToMs)}`;
  return nowMs >= validToMs - warnDays * dayMs ? `tls_certificate_expires: at ${time(validToMs)}` : null;
}

export interface Tls {
  /** The certificate in use. */
  readonly context: SecureContextOptions;
  /** Whether clients must have a certificate. */
  readonly isMutual: boolean;
  /** The reasons why health is degraded. */
  reasons(): readonly string[];
  /** Reads the files again. Returns the context to serve from now on, or null where the former one stays. */
  reload(): SecureContextOptions | null;
}

/**
 * Throws as `readCertificate` does. Also serves a certificate that is not valid now, and reports that in health
 * and the log.
 */
export function openTls(
  files: TlsFiles,
  { log, now }: { readonly log: Log; readonly now: () => number },
): Tls {
  let used = readCertificate(files);
  let failure: string | null = null;
  const warn = (): void => {
    const fault = validityFault(used, now());
    if (fault !== null) log.warn({ certificate: files.cert }, fault);
  };
  warn();
  return {
    get context() {
      return used.context;
    },
    isMutual: files.clientCa !== null,
    reasons: () => [validityFault(used, now()), failure].filter((reason) => reason !== null),
    reload: () => {
      try {
        const next = readCertificate(files);
        const fault = validityFault(next, now());
        if (fault !== null && !fault.startsWith('tls_certificate_expires')) {
          throw new GovError('VALIDATION_ERROR', fault);
        }
        used = next;
        failure = null;
        log.info(
          { certificate: files.cert, until: new Date(used.validToMs).toISOString() },
          'certificate reloaded',
        );
        warn();
        return used.context;
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        failure = `tls_reload_failed: ${why}; the former certificate is still served`;
        log.error(
          { err: error, certificate: files.cert },
          'could not reload the certificate; the former one stays in use',
        );
        return null;
      }
    },
  };
}
